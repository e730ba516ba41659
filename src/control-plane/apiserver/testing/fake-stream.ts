import type { ReplyStream } from '../http/reply.ts';

/** A peer that accepts `room` bytes and then no more until `read`. */
export class FakeStream implements ReplyStream {
  readonly chunks: string[] = [];
  state: 'open' | 'ended' | 'destroyed' = 'open';
  #room: number;
  readonly #drain: (() => void)[] = [];
  readonly #close: (() => void)[] = [];

  constructor(room = Number.POSITIVE_INFINITY) {
    this.#room = room;
  }

  get text(): string {
    return this.chunks.join('');
  }

  /** The lines of a watch. */
  get events(): readonly { readonly type: string; readonly object: Record<string, unknown> }[] {
    return this.text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as { type: string; object: Record<string, unknown> });
  }

  write(chunk: Uint8Array | string): boolean {
    const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8');
    this.chunks.push(text);
    this.#room -= text.length;
    return this.#room > 0;
  }

  /** Simulates that the peer has read data and accepts this many more bytes. */
  read(room: number): void {
    this.#room = room;
    for (const listener of this.#drain) listener();
  }

  onDrain(listener: () => void): void {
    this.#drain.push(listener);
  }

  onClose(listener: () => void): void {
    this.#close.push(listener);
  }

  end(): void {
    this.state = 'ended';
    for (const listener of this.#close.splice(0)) listener();
  }

  destroy(): void {
    this.state = 'destroyed';
    for (const listener of this.#close.splice(0)) listener();
  }
}
