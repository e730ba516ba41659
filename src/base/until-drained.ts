import type { EventEmitter } from 'node:events';

/**
 * Resolves when a stream has room for more, or is closed. Leaves no listeners behind, because a long output waits often.
 */
export function untilDrained(stream: Pick<EventEmitter, 'on' | 'off'>): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done);
      stream.off('close', done);
      resolve();
    };
    stream.on('drain', done);
    stream.on('close', done);
  });
}
