/** Where questions go that are not the cluster's. Pure. */

/** The name servers a `resolv.conf` names, in its order; at most three, as the C library. `own` is left out: asking ourselves would go in a circle. */
export function nameServers(resolvConf: string, own: string): string[] {
  const found = resolvConf
    .split('\n')
    .flatMap((line) => /^\s*nameserver\s+([0-9a-fA-F.:]+)(?:%\S+)?\s*(?:[#;].*)?$/.exec(line)?.[1] ?? []);
  return [...new Set(found)].filter((server) => server !== own).slice(0, 3);
}

/** Whether an answer belongs to the question: the id is ours, and the question is repeated. The bytes after the id of a question are 12 header bytes and the name. */
export function isAnswerTo(question: Buffer, answer: Buffer, id: number): boolean {
  if (answer.length < 12 || answer.readUInt16BE(0) !== id || (answer.readUInt16BE(2) & 0x8000) === 0) return false;
  // Refusals may leave the question out.
  if (answer.readUInt16BE(4) === 0) return (answer.readUInt16BE(2) & 0xf) !== 0;
  const end = questionEnd(question);
  return (
    end !== undefined &&
    answer.length >= end &&
    answer.subarray(12, end).toString('latin1').toLowerCase() ===
      question.subarray(12, end).toString('latin1').toLowerCase()
  );
}

/** Name, type and class of the first question; names in questions are never shortened. */
function questionEnd(message: Buffer): number | undefined {
  let at = 12;
  for (;;) {
    const length = message[at];
    if (length === undefined || length > 63) return undefined;
    at += length + 1;
    if (length === 0) break;
  }
  return at + 4 <= message.length ? at + 4 : undefined;
}

export const isTruncated = (answer: Buffer): boolean => answer.length >= 4 && (answer.readUInt16BE(2) & 0x0200) !== 0;

/** The same message under another id. */
export function withId(message: Buffer, id: number): Buffer {
  const copy = Buffer.from(message);
  copy.writeUInt16BE(id, 0);
  return copy;
}
