/** Decisions about forwarding queries for names outside the cluster, without I/O. */
import { checkStrictIp } from '../../api/validation/names.ts';

const HEADER_BYTES = 12;

/**
 * The name servers in a `resolv.conf`, in order; at most three, as in the C library. The server's addresses (`own`) are
 * left out, because a query sent there would loop.
 */
export function nameServers(resolvConf: string, own: readonly string[]): string[] {
  const found = resolvConf
    .split('\n')
    .flatMap((line) => /^\s*nameserver\s+([0-9a-fA-F.:]+)(?:%\S+)?\s*(?:[#;].*)?$/.exec(line)?.[1] ?? []);
  return [...new Set(found)]
    .filter((server) => checkStrictIp(server).length === 0 && !own.includes(server))
    .slice(0, 3);
}

/** Whether a response belongs to the query: it has the same id and repeats the question. */
export function isAnswerTo(question: Buffer, answer: Buffer, id: number): boolean {
  if (
    answer.length < HEADER_BYTES ||
    answer.readUInt16BE(0) !== id ||
    (answer.readUInt16BE(2) & 0x8000) === 0 ||
    answer.readUInt16BE(4) !== 1
  )
    return false;
  const end = questionEnd(question);
  return end !== undefined && answer.length >= end && lowerCase(answer, end) === lowerCase(question, end);
}

/** Identifies a query: its id, name, type and class. Undefined for a message that is not a query. */
export function questionKey(message: Buffer): string | undefined {
  const end = message.length < HEADER_BYTES ? undefined : questionEnd(message);
  return end === undefined ? undefined : `${message.readUInt16BE(0)} ${lowerCase(message, end)}`;
}

/** Name, type and class of the question, in lower case; a response repeats them. Undefined if there is no question. */
export function questionIdentity(message: Buffer): { readonly key: string; readonly end: number } | undefined {
  const end = message.length < HEADER_BYTES ? undefined : questionEnd(message);
  if (end === undefined) return undefined;
  const extensions = message.readUInt16BE(10);
  return { key: `${message.readUInt16BE(2)} ${extensions} ${lowerCase(message, end)}`, end };
}

const lowerCase = (message: Buffer, end: number): string =>
  message.subarray(HEADER_BYTES, end).toString('latin1').toLowerCase();

/** The offset after name, type and class of the first question. Names in questions are never compressed. */
function questionEnd(message: Buffer): number | undefined {
  let at = HEADER_BYTES;
  for (;;) {
    const length = message[at];
    if (length === undefined || length > 63) return undefined;
    at += length + 1;
    if (length === 0) break;
  }
  return at + 4 <= message.length ? at + 4 : undefined;
}

/** The name in the question; '' for a message without one. */
export function questionName(message: Buffer): string {
  const labels: string[] = [];
  const end = message.length < HEADER_BYTES ? undefined : questionEnd(message);
  for (let at = HEADER_BYTES; end !== undefined && (message[at] ?? 0) > 0; at += (message[at] ?? 0) + 1)
    labels.push(message.toString('latin1', at + 1, at + 1 + (message[at] ?? 0)));
  return labels.join('.');
}

/** The same message with another id. */
export function withId(message: Buffer, id: number): Buffer {
  const copy = Buffer.from(message);
  copy.writeUInt16BE(id, 0);
  return copy;
}
