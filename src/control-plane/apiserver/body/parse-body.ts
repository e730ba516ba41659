import { isUtf8 } from 'node:buffer';
import { ApiStatusError, badRequest } from '../../../api/status/api-status-error.ts';
import { protobufContentType } from '../../../api/protobuf/decode-protobuf.ts';
import type { FieldValidation } from '../../model/request-context.ts';
import type { WriteBody } from '../../registry/registry.ts';
import { scanJson } from './scan-json.ts';

/** What a body may be made of. What is beyond is refused before anything walks through it. */
export const maxDepth = 500;

const readTypes = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];

export type BodyEncoding = 'json' | 'yaml' | 'protobuf';

const encodings: Readonly<Record<string, BodyEncoding>> = {
  '': 'json',
  'application/json': 'json',
  'application/yaml': 'yaml',
  'text/yaml': 'yaml',
  'application/x-yaml': 'yaml',
  [protobufContentType]: 'protobuf',
};

/** 415 for what is neither JSON, YAML nor protobuf (which kubectl uses for objects it makes itself). Nothing said is JSON; of charsets only UTF-8 is understood. */
export function bodyEncodingOf(contentType: string | undefined): BodyEncoding {
  if (contentType === undefined || contentType === 'application/json') return 'json';
  const [type = '', ...parameters] = contentType
    .toLowerCase()
    .split(';')
    .map((part) => part.trim());
  const encoding = Object.hasOwn(encodings, type) ? encodings[type] : undefined;
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
  /** The kind that is expected, for the refusal of what is no object at all. */
  readonly kind: string;
}

/** The value of a body, and what its text alone tells; 400 when there is none. */
export async function parseBody({ bytes, encoding, fieldValidation, kind }: BodyRequest): Promise<WriteBody> {
  const refuse = (why: string): ApiStatusError =>
    badRequest(
      `the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; json parse error: ${why} (${summarize(bytes)})`,
    );
  if (encoding === 'protobuf') return { value: undefined, protobuf: bytes, duplicates: [] };
  if (!isUtf8(bytes)) throw refuse('invalid UTF-8');
  const text = bytes.toString('utf8');
  // What is sent as YAML is most often JSON, which is read many times faster.
  const parsed = encoding === 'json' || /^\s*[{[]/.test(text) ? tryJson(text, fieldValidation) : undefined;
  if (parsed !== undefined && !('error' in parsed)) return parsed;
  if (encoding === 'json') throw refuse(parsed?.error ?? scanJson(text).error ?? 'not JSON');
  // The parser of YAML takes megabytes that most servers never need.
  const { readYaml } = await import('./read-yaml.ts');
  return readYaml(text, { refuse, maxDepth });
}

/** `error` when the text is JSON that cannot be taken; undefined when it is none. */
function tryJson(text: string, fieldValidation: FieldValidation): WriteBody | { readonly error: string } | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  // A level takes two characters at least.
  if (text.length > 2 * maxDepth && isDeeper(value, maxDepth)) return { error: 'exceeded max depth' };
  return { value, duplicates: fieldValidation === 'Ignore' ? [] : duplicatesIn(text, value) };
}

/** Programs write JSON as JSON.stringify does, and what comes out again as it came in has no key twice. Only other texts are scanned. */
function duplicatesIn(text: string, value: unknown): readonly string[] {
  const again = JSON.stringify(value);
  if (again.length > text.length || again === text || (text.length - again.length < 3 && again === text.trim()))
    return [];
  return scanJson(text).duplicates;
}

/** Without recursion: a nest of a million arrays is no deeper for it. */
export function isDeeper(value: unknown, limit: number): boolean {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > limit) return true;
    const next: unknown[] = [];
    for (const each of level) {
      if (typeof each !== 'object' || each === null) continue;
      for (const inner of Object.values(each)) if (typeof inner === 'object' && inner !== null) next.push(inner);
    }
    level = next;
  }
  return false;
}

/** The beginning of a body, as refusals show it: text only where it looks like an object. */
function summarize(bytes: Buffer): string {
  if (bytes.length === 0) return '<empty>';
  const head = bytes.subarray(0, 30);
  const shown = bytes[0] === 0x7b ? head.toString('utf8') : head.toString('hex');
  return bytes.length > 30 ? `${shown} ...` : shown;
}
