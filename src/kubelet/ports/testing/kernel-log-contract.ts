import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KernelLog } from '../kernel-log.ts';

export interface KernelLogSubject {
  readonly log: KernelLog;
  /** Writes a line as a program. */
  write(line: string): void;
}

/** The contract of kernel logs. `skip` is the reason why it cannot run here. */
export function kernelLogContract(name: string, subject: () => KernelLogSubject, skip: string | false = false): void {
  test(`${name}: records written from now on arrive in order, as those of a program, until it is stopped`, {
    skip,
  }, async () => {
    const { log, write } = subject();
    const mark = `kubelet test ${process.pid} ${Math.random()}`;
    write(`${mark} before`);
    // The handle of a log does not keep a process alive.
    const keepAlive = setInterval(() => {}, 1000);
    const seen: string[] = [];
    const sequences: number[] = [];
    const until = (line: string): { readonly stop: () => void; readonly arrived: Promise<void> } => {
      let stop = (): void => {};
      const arrived = new Promise<void>((resolve, reject) => {
        stop = log.follow({
          onMessage: ({ text, byKernel, sequence }) => {
            if (!text.startsWith(mark)) return;
            seen.push(`${text.slice(mark.length + 1)} ${byKernel}`);
            sequences.push(sequence);
            if (text === `${mark} ${line}`) resolve();
          },
          onLost: () => {},
          onEnd: reject,
        });
      });
      return { stop, arrived };
    };
    try {
      const first = until('second');
      write(`${mark} first`);
      write(`${mark} second`);
      await first.arrived;
      first.stop();
      write(`${mark} unseen`);
      const later = until('last');
      write(`${mark} last`);
      await later.arrived;
      later.stop();
    } finally {
      clearInterval(keepAlive);
    }
    assert.deepEqual(seen, ['first false', 'second false', 'last false']);
    assert.deepEqual(
      sequences,
      sequences.toSorted((left, right) => left - right),
    );
  });
}
