import { Buffer } from 'node:buffer';
import { MessageWriter, wireTypes } from './message-writer.ts';

/** The bytes before the metadata of a list, which is its first field. */
export function listHead(metadata: Uint8Array): Buffer {
  return Buffer.concat([fieldHead(1, metadata.length), metadata]);
}

/** The bytes before an item of a list. */
export const listItemHead = (bytes: number): Buffer => fieldHead(2, bytes);

function fieldHead(number: number, bytes: number): Buffer {
  const writer = new MessageWriter(HEAD_BYTES);
  writer.uint(bytes);
  writer.tag(number, wireTypes.bytes);
  return writer.finish();
}

const HEAD_BYTES = 16;
const FRAME_HEAD_BYTES = 4;

/**
 * A watch event as a frame: its length in four bytes, then a WatchEvent without an envelope, whose object has one
 * (upstream: LengthDelimitedFramer, and RawExtension in meta/v1 WatchEvent).
 */
export function frameWatchEvent(type: string, sealed: Uint8Array): Buffer {
  const writer = new MessageWriter(sealed.length + type.length + 2 * HEAD_BYTES);
  writer.raw(sealed);
  writer.lengthSince(0, 1);
  writer.lengthSince(0, 2);
  const before = writer.length;
  writer.text(type);
  writer.lengthSince(before, 1);
  const { length } = writer;
  writer.raw(bigEndian(length));
  return writer.finish();
}

/** A frame without its length, for transports with message boundaries. */
export const unframed = (frame: Buffer): Buffer => frame.subarray(FRAME_HEAD_BYTES);

function bigEndian(length: number): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUInt32BE(length);
  return head;
}
