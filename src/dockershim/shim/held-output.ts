import type { Buffer } from 'node:buffer';
import type { Writable } from 'node:stream';
import { untilDrained } from '../../base/until-drained.ts';

/**
 * How much output of one stream is buffered for a slow client. After a container ends, Docker gives its readers two
 * seconds and drops what they have not read by then (moby: daemon/monitor.go handleContainerExit). A slow client must
 * therefore not block the stream from Docker.
 */
const MOST_HELD_BYTES = 4 * 1024 * 1024;

/** Writes to a client; resolves when there is room for more, or the client is gone. */
export async function writeHeld(target: Writable | undefined, data: Buffer): Promise<void> {
  if (target === undefined || target.destroyed || target.writableEnded) return;
  if (!target.write(data) && target.writableLength > MOST_HELD_BYTES) await untilDrained(target);
}
