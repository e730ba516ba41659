import type { Buffer } from 'node:buffer';
import type { Writable } from 'node:stream';

/**
 * What is held of one stream for a slow client. Docker gives the readers of a container that ended two seconds and drops
 * what they have not taken by then (moby: daemon/monitor.go handleContainerExit), so a slow client must not keep it
 * waiting.
 */
const MOST_HELD_BYTES = 4 * 1024 * 1024;

/** Writes to a client; resolves when there is room for more, or the client is gone. */
export async function writeHeld(target: Writable | undefined, data: Buffer): Promise<void> {
  if (target === undefined || target.destroyed || target.writableEnded) return;
  if (!target.write(data) && target.writableLength > MOST_HELD_BYTES) await roomIn(target);
}

/** Leaves no listener behind: a long output waits often. */
function roomIn(target: Writable): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      target.off('drain', done).off('close', done);
      resolve();
    };
    target.on('drain', done).on('close', done);
  });
}
