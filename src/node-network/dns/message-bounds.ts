/** Where the parts of a DNS message end. Pure. */

const HEADER_BYTES = 12;
const MAX_NAME_BYTES = 255;
/** A name has at most this many labels, and needs at most one pointer for each. */
const MAX_POINTERS = 128;
/** The length of type, class, TTL and data length, which follow the name of a record. */
const RECORD_HEAD_BYTES = 10;
/** The length of type and class, which follow the name of a question. */
const QUESTION_TAIL_BYTES = 4;

/**
 * Returns the length of the message according to its counters; undefined if it announces more records than it contains,
 * if a record or a name leads out of it, or if a name points forward or in a circle. Further bytes are not part of the
 * message. The cost is linear in the length.
 */
export const messageEnd = (message: Buffer): number | undefined => readBounds(message)?.end;

export interface RecordBounds {
  /** The section: 0 answer, 1 authority, 2 additional. */
  readonly section: number;
  readonly type: number;
  /** The offset of its TTL. */
  readonly ttlAt: number;
  readonly dataEnd: number;
}

/** Does the same, and calls back for each record. */
export function readBounds(
  message: Buffer,
): { readonly end: number; readonly records: readonly RecordBounds[] } | undefined {
  if (message.length < HEADER_BYTES) return undefined;
  const [questions, ...counts] = [4, 6, 8, 10].map((at) => message.readUInt16BE(at));
  const records: RecordBounds[] = [];
  let at: number | undefined = HEADER_BYTES;
  for (let left = questions ?? 0; left > 0; left -= 1) {
    at = nameEnd(message, at);
    if (at === undefined || (at += QUESTION_TAIL_BYTES) > message.length) return undefined;
  }
  for (const [section, count] of counts.entries())
    for (let left = count; left > 0; left -= 1) {
      const head = nameEnd(message, at);
      if (head === undefined || head + RECORD_HEAD_BYTES > message.length) return undefined;
      at = head + RECORD_HEAD_BYTES + message.readUInt16BE(head + RECORD_HEAD_BYTES - 2);
      if (at > message.length) return undefined;
      records.push({ section, type: message.readUInt16BE(head), ttlAt: head + 4, dataEnd: at });
    }
  return { end: at, records };
}

/**
 * Returns the end of a name. A pointer must lead to a position before the current sequence of labels, so following
 * pointers always ends.
 */
function nameEnd(message: Buffer, start: number): number | undefined {
  let end: number | undefined;
  let [at, began, bytes, pointers] = [start, start, 0, 0];
  for (;;) {
    const length = message[at];
    if (length === undefined) return undefined;
    if (length === 0) return end ?? at + 1;
    if ((length & 0xc0) === 0xc0) {
      if (at + 1 >= message.length) return undefined;
      const target = message.readUInt16BE(at) & 0x3fff;
      if (target >= began || target < HEADER_BYTES || (pointers += 1) > MAX_POINTERS) return undefined;
      end ??= at + 2;
      at = began = target;
    } else {
      bytes += length + 1;
      if (length > 63 || bytes >= MAX_NAME_BYTES || at + length >= message.length) return undefined;
      at += length + 1;
    }
  }
}
