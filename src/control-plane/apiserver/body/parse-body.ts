import { isUtf8 } from 'node:buffer';
import { ApiStatusError, badRequest } from '../../../api/status/api-status-error.ts';
import { protobufContentType } from '../../../api/protobuf/decode-protobuf.ts';
import { parseYaml } from '../../../api/manifest/parse-yaml.ts';
import { toPlainValue } from '../../../api/manifest/yaml-value.ts';
import type { FieldValidation } from '../../model/request-context.ts';
import type { WriteBody } from '../../registry/registry.ts';
import { scanJson } from './scan-json.ts';

/** What a body may be made of. What is beyond is refused before anything walks through it. */
export const maxDepth = 500;
const yamlLimits = { maxDepth, maxAliasValues: 20_000 };
/** Bounds the time of the YAML parser, which grows with these: 100,000 take about a fifth of a second. */
const maxLexemes = 200_000;

const readTypes = ['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf'];

export type BodyEncoding = 'json' | 'yaml' | 'protobuf';

const encodings: Readonly<Record<string, BodyEncoding>> = {
  '': 'json', 'application/json': 'json', 'application/yaml': 'yaml', 'text/yaml': 'yaml', 'application/x-yaml': 'yaml', [protobufContentType]: 'protobuf',
};

/** 415 for what is neither JSON, YAML nor protobuf (which kubectl uses for objects it makes itself). Nothing said is JSON; of charsets only UTF-8 is understood. */
export function bodyEncodingOf(contentType: string | undefined): BodyEncoding {
  if (contentType === undefined || contentType === 'application/json') return 'json';
  const [type = '', ...parameters] = contentType.toLowerCase().split(';').map((part) => part.trim());
  const encoding = Object.hasOwn(encodings, type) ? encodings[type] : undefined;
  if (encoding === undefined || parameters.some(isOtherCharset)) {
    throw new ApiStatusError('UnsupportedMediaType', `the body of the request was in an unknown format - accepted media types include: ${readTypes.join(', ')}`);
  }
  return encoding;
}

const isOtherCharset = (parameter: string): boolean => parameter.startsWith('charset=') && !/^charset="?(utf-?8|us-ascii)"?$/.test(parameter);

export interface BodyRequest {
  readonly bytes: Buffer;
  readonly encoding: BodyEncoding;
  readonly fieldValidation: FieldValidation;
  /** The kind that is expected, for the refusal of what is no object at all. */
  readonly kind: string;
}

/** The value of a body, and what its text alone tells; 400 when there is none. */
export function parseBody({ bytes, encoding, fieldValidation, kind }: BodyRequest): WriteBody {
  const refuse = (why: string): ApiStatusError => badRequest(`the object provided is unrecognized (must be of type ${kind}): couldn't get version/kind; json parse error: ${why} (${summarize(bytes)})`);
  if (encoding === 'protobuf') return { value: undefined, protobuf: bytes, duplicates: [] };
  if (!isUtf8(bytes)) throw refuse('invalid UTF-8');
  const text = bytes.toString('utf8');
  // What is sent as YAML is most often JSON, which is read many times faster.
  const parsed = encoding === 'json' || /^\s*[{[]/.test(text) ? tryJson(text, fieldValidation) : undefined;
  if (parsed !== undefined && !('error' in parsed)) return parsed;
  if (encoding === 'json') throw refuse(parsed?.error ?? scanJson(text).error ?? 'not JSON');
  return readYaml(text, refuse);
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
  if (again.length > text.length || again === text || (text.length - again.length < 3 && again === text.trim())) return [];
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

function readYaml(text: string, refuse: (why: string) => ApiStatusError): WriteBody {
  const { document, errors } = parseYaml(text, maxLexemes);
  const [error] = errors;
  if (error !== undefined || document === undefined) throw refuse(error === undefined ? 'no YAML document' : `yaml: line ${lineAt(text, error.offset)}: ${error.message}`);
  const { value, problems } = toPlainValue(document, yamlLimits);
  const unusable = problems.find((problem) => !problem.duplicate);
  if (unusable !== undefined) throw refuse(`yaml: line ${lineAt(text, unusable.offset)}: ${unusable.message}`);
  return { value: withoutBigints(value), duplicates: problems.slice(0, 100).map((problem) => `line ${lineAt(text, problem.offset)}: key ${JSON.stringify(String(problem.path.at(-1) ?? ''))} already set in map`) };
}

/** Whole numbers beyond 2^53 become the nearest double, as in JSON. */
function withoutBigints(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(withoutBigints);
  const copy: Record<string, unknown> = {};
  for (const [key, each] of Object.entries(value)) Object.defineProperty(copy, key, { value: withoutBigints(each), enumerable: true, writable: true, configurable: true });
  return copy;
}

function lineAt(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at >= 0 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}

/** The beginning of a body, as refusals show it: text only where it looks like an object. */
function summarize(bytes: Buffer): string {
  if (bytes.length === 0) return '<empty>';
  const head = bytes.subarray(0, 30);
  const shown = bytes[0] === 0x7b ? head.toString('utf8') : head.toString('hex');
  return bytes.length > 30 ? `${shown} ...` : shown;
}
