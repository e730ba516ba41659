import { isUtf8 } from 'node:buffer';
import { parseExactJson } from '../../../base/exact-json.ts';
import { nextTurn } from '../../../base/turn.ts';
import { measureJson } from '../../../api/measure-json.ts';
import { objectLimits } from '../../../api/object-limits.ts';
import { withWholeCharacters } from '../../../base/whole-characters.ts';
import { lookupTable } from '../../../base/lookup.ts';
import { ApiStatusError, badRequest } from '../../../api/status/api-status-error.ts';
import { tooManyValues } from '../../../api/status/too-many-values.ts';
import { PROTOBUF_CONTENT_TYPE } from '../../../api/protobuf/decode-protobuf.ts';
import type { FieldValidation } from '../../model/request-context.ts';
import type { WriteBody } from '../../registry/registry.ts';
import type { TextTasks } from '../texts/text-tasks.ts';

/** The size from which a body is parsed in several turns of the event loop. */
const LARGE_BYTES = 100_000;

const readTypes = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];

export type BodyEncoding = 'json' | 'yaml' | 'protobuf';

const encodings: Readonly<Record<string, BodyEncoding>> = lookupTable({
  '': 'json',
  'application/json': 'json',
  'application/yaml': 'yaml',
  'text/yaml': 'yaml',
  'application/x-yaml': 'yaml',
  [PROTOBUF_CONTENT_TYPE]: 'protobuf',
});

/**
 * Returns the encoding. Throws 415 unless the type is JSON, YAML or protobuf (which kubectl uses for objects it
 * generates). Without a type the body is JSON. Only the charset UTF-8 is accepted.
 */
export function bodyEncodingOf(contentType: string | undefined): BodyEncoding {
  if (contentType === undefined || contentType === 'application/json') return 'json';
  const [type = '', ...parameters] = contentType
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const encoding = encodings[type];
  if (encoding === undefined || parameters.some(isOtherCharset)) {
    throw new ApiStatusError(
      'UnsupportedMediaType',
      `the body of the request was in an unknown format - accepted media types include: ${readTypes.join(', ')}`,
    );
  }
  return encoding;
}

const isOtherCharset = (parameter: string): boolean =>
  parameter.startsWith('charset=') && !/^charset="?(utf-?8|us-ascii)"?$/.test(parameter);

export interface BodyRequest {
  readonly bytes: Buffer;
  readonly encoding: BodyEncoding;
  readonly fieldValidation: FieldValidation;
  /** The expected kind, for the error if the body is not an object. */
  readonly kind: string;
  readonly texts: TextTasks;
}

/** Parses a body. Returns its value and the facts that only its text shows; throws 400 if the body is empty. */
export async function parseBody({ bytes, encoding, fieldValidation, kind, texts }: BodyRequest): Promise<WriteBody> {
  const refuse = (why: string): ApiStatusError =>
    badRequest(
      `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; json parse error: ${why} (${summarize(bytes)})`,
    );
  if (encoding === 'protobuf') return { value: undefined, protobuf: bytes, duplicates: [] };
  if (!isUtf8(bytes)) throw refuse('invalid UTF-8');
  // Bodies of type YAML are usually JSON, which is parsed many times faster.
  const parsed =
    encoding === 'json' || isLikeJson(bytes) ? await tryJson(bytes, { encoding, fieldValidation, texts }) : undefined;
  if (parsed !== undefined && !('error' in parsed)) return parsed;
  const text = bytes.toString('utf8');
  if (encoding === 'json') throw refuse(parsed?.error ?? (await texts.scanJson(text)).error ?? 'not JSON');
  const read = await texts.readYaml(text);
  if ('error' in read) throw refuse(read.error);
  if ('tooMany' in read) throw tooManyValues(objectLimits.bodyValues);
  return { value: parseExactJson(read.json), duplicates: read.duplicates, form: 'yaml' };
}

const isLikeJson = (bytes: Buffer): boolean => /^\s*[{[]/.test(bytes.toString('latin1', 0, 1024));

/** Parses JSON. Returns `error` if the text is JSON that must be rejected, or undefined if it is not JSON. */
async function tryJson(
  bytes: Buffer,
  { encoding, fieldValidation, texts }: Pick<BodyRequest, 'encoding' | 'fieldValidation' | 'texts'>,
): Promise<WriteBody | { readonly error: string } | undefined> {
  const { values, keys, depth } = measureJson(bytes, objectLimits.bodyValues);
  if (values > objectLimits.bodyValues) throw tooManyValues(objectLimits.bodyValues);
  const text = withWholeCharacters(bytes.toString('utf8'));
  let value: unknown;
  try {
    // Text that is nested too deeply is rejected below. Scanning it exactly would overflow the stack.
    value = depth > objectLimits.depth ? JSON.parse(text) : parseExactJson(text);
  } catch {
    return undefined;
  }
  if (depth > objectLimits.depth) return { error: 'exceeded max depth' };
  if (bytes.length > LARGE_BYTES) await nextTurn();
  // If a key occurs twice, one of its values is lost.
  const form = encoding === 'yaml' ? { form: encoding } : {};
  if (fieldValidation === 'Ignore' || keysIn(value) === keys) return { value, duplicates: [], ...form };
  const { problems, lines } = await texts.scanJson(text);
  return encoding === 'yaml' ? { value, duplicates: lines, form: 'yaml' } : { value, duplicates: problems, text };
}

function keysIn(value: unknown): number {
  let keys = 0;
  const waiting = [value];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (typeof next !== 'object' || next === null) continue;
    const inner: unknown[] = Object.values(next);
    if (!Array.isArray(next)) keys += inner.length;
    for (const each of inner) if (typeof each === 'object' && each !== null) waiting.push(each);
  }
  return keys;
}

/** Returns the beginning of a body for error messages, as text only if it looks like an object. */
function summarize(bytes: Buffer): string {
  if (bytes.length === 0) return '<empty>';
  const head = bytes.subarray(0, 30);
  const shown = bytes[0] === 0x7b ? head.toString('utf8') : head.toString('hex');
  return bytes.length > 30 ? `${shown} ...` : shown;
}
