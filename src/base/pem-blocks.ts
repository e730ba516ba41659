import { Buffer } from 'node:buffer';

/** One block of a PEM text. */
export interface PemBlock {
  /** The type in its header, such as `CERTIFICATE`. */
  readonly type: string;
  readonly hasHeaders: boolean;
  readonly der: Uint8Array;
}

const BEGIN = '-----BEGIN ';
const DASHES = '-----';

/**
 * Reads the well-formed blocks of a text, in order. Text between them and malformed blocks are skipped, as in Go's
 * encoding/pem. The cost is linear in the text.
 */
export function readPemBlocks(text: string): readonly PemBlock[] {
  const blocks: PemBlock[] = [];
  let end = -1;
  for (let at = headAt(text, 0); at >= 0; ) {
    const lineEnd = endOfLine(text, at);
    const head = text.slice(at, lineEnd).trimEnd();
    const body = Math.min(lineEnd + 1, text.length);
    // The next footer is searched once, however many headers precede it.
    if (end < body) end = text.indexOf('-----END ', body);
    if (end < 0) break;
    const type = head.slice(BEGIN.length, -DASHES.length);
    const foot = text.slice(end, endOfLine(text, end)).trimEnd();
    const block =
      head.endsWith(DASHES) && foot === `-----END ${type}-----` && text[end - 1] === '\n'
        ? readBody(type, text.slice(body, end))
        : undefined;
    if (block !== undefined) blocks.push(block);
    at = headAt(text, block === undefined ? body : endOfLine(text, end));
  }
  return blocks;
}

/** Finds the next line that begins like a header. */
function headAt(text: string, from: number): number {
  if (from === 0 && text.startsWith(BEGIN)) return 0;
  const found = text.indexOf(`\n${BEGIN}`, Math.max(from - 1, 0));
  return found < 0 ? -1 : found + 1;
}

function endOfLine(text: string, from: number): number {
  const found = text.indexOf('\n', from);
  return found < 0 ? text.length : found;
}

/** Reads the body. `Key: value` lines may precede it. Returns undefined if it is not base64. */
function readBody(type: string, body: string): PemBlock | undefined {
  const lines = body.split('\n');
  const first = lines.findIndex((line) => !line.includes(':'));
  const base64 = lines
    .slice(first < 0 ? lines.length : first)
    .join('')
    .replaceAll(/[ \t\r]/g, '');
  const der = Buffer.from(base64, 'base64');
  if (der.toString('base64') !== base64) return undefined;
  return { type, hasHeaders: first !== 0, der };
}
