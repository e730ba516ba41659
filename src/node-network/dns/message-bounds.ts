/** Where the parts of a DNS message end. Pure. */

const HEADER_BYTES = 12;
const MAX_NAME_BYTES = 255;
/** A name has at most so many labels, and none needs more than one pointer. */
const MAX_POINTERS = 128;
/** Type, class, time to live and length, behind the name of a record. */
const RECORD_HEAD_BYTES = 10;
/** Type and class, behind the name of a question. */
const QUESTION_TAIL_BYTES = 4;

/**
 * The number of bytes that the message takes by its own account; undefined when it counts more records than it holds,
 * when a record or a name leads out of it, or when a name leads forward or in a circle. What stands behind is not part
 * of it. The cost grows with the length of the message.
 */
export const messageEnd = (message: Buffer): number | undefined => readBounds(message)?.end;

export interface RecordBounds {
  /** 0: of the answer, 1: of the authority, 2: additional. */
  readonly section: number;
  readonly type: number;
  /** Where its time to live stands. */
  readonly ttlAt: number;
  readonly dataEnd: number;
}

/** The same, with the records on the way there. */
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

/** A pointer may lead only in front of where the labels began that end with it: so it always comes to an end. */
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
