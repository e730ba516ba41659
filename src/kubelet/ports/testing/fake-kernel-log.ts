import { KubeletError } from '../../../base/errors.ts';
import type { KernelLog, KernelLogHandlers, KernelMessage } from '../kernel-log.ts';

/** A kernel log to which tests write. */
export class FakeKernelLog implements KernelLog {
  /** The number of next calls of `follow` that fail with Unavailable. */
  refusals = 0;
  follows = 0;
  readonly #followers = new Set<KernelLogHandlers>();
  readonly #written: KernelMessage[] = [];
  #sequence = 0;

  follow(handlers: KernelLogHandlers, { sinceBoot } = { sinceBoot: false }): () => void {
    this.follows++;
    if (this.refusals > 0) {
      this.refusals--;
      throw new KubeletError('Unavailable', 'open /dev/kmsg: scripted');
    }
    if (sinceBoot) for (const message of this.#written) handlers.onMessage({ ...message, isOld: true });
    this.#followers.add(handlers);
    return () => void this.#followers.delete(handlers);
  }

  /** Writes lines of the kernel. */
  write(...lines: readonly string[]): void {
    for (const text of lines) this.#send(text, true);
  }

  /** Writes a line of a privileged program. */
  writeAsProgram(text: string): void {
    this.#send(text, false);
  }

  lose(): void {
    for (const { onLost } of this.#followers) onLost();
  }

  end(reason: string): void {
    const ended = [...this.#followers];
    this.#followers.clear();
    for (const { onEnd } of ended) onEnd(reason);
  }

  get isFollowed(): boolean {
    return this.#followers.size > 0;
  }

  #send(text: string, byKernel: boolean): void {
    this.#sequence++;
    const message = { sequence: this.#sequence, byKernel, text };
    this.#written.push(message);
    for (const { onMessage } of [...this.#followers]) onMessage(message);
  }
}
