import { lookupTable } from '../../../base/lookup.ts';
import { PROTOBUF_CONTENT_TYPE } from '../../../api/protobuf/decode-protobuf.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';

/** The encoding of a response. */
export type OutputForm =
  | { readonly as: 'object' }
  | { readonly as: 'table'; readonly version: MetaVersion }
  | { readonly as: 'partial'; readonly version: MetaVersion };

export type MetaVersion = 'v1' | 'v1beta1';

export type OutputEncoding = 'json' | 'yaml' | 'protobuf';

export interface Output {
  readonly encoding: OutputEncoding;
  readonly form: OutputForm;
  readonly pretty: boolean;
}

interface MediaRange {
  readonly type: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly quality: number;
}

export const acceptedTypes = ['application/json', 'application/yaml'] as const;

const encodings: Readonly<Record<string, OutputEncoding>> = lookupTable({
  'application/json': 'json',
  'application/yaml': 'yaml',
  'text/yaml': 'yaml',
  'application/x-yaml': 'yaml',
  [PROTOBUF_CONTENT_TYPE]: 'protobuf',
  '*/*': 'json',
  'application/*': 'json',
});
const formOfKind: Readonly<Record<string, 'table' | 'partial'>> = lookupTable({
  Table: 'table',
  PartialObjectMetadata: 'partial',
  PartialObjectMetadataList: 'partial',
});

const plainJson: Output = { encoding: 'json', form: { as: 'object' }, pretty: false };

/** The available encodings in addition to JSON. */
export interface OfferedForms {
  /** Whether the kind has columns. */
  readonly tables: boolean;
  /** Whether the kind has a protobuf message. PartialObjectMetadata always has one, a Table never. */
  readonly messages: boolean;
}
const allForms: OfferedForms = { tables: true, messages: true };

/**
 * Returns the first of the client's types that can be served; throws 406 if there is none. Most clients, such as
 * kubectl, match the fast path.
 */
export function negotiate(accept: string | undefined, pretty = false, offered = allForms): Output {
  if (!pretty && (accept === undefined || accept === '' || accept === 'application/json' || accept === '*/*'))
    return plainJson;
  if (accept === undefined || accept.trim() === '') return { ...plainJson, pretty };
  for (const range of parseAccept(accept)) {
    const encoding = encodings[range.type];
    const form = encoding === undefined ? undefined : formOf(range);
    if (encoding !== undefined && form !== undefined && isOffered(encoding, form, offered))
      return { encoding, form, pretty: pretty || isTrue(range.parameters.pretty) };
  }
  const accepted = offered.messages ? [...acceptedTypes, PROTOBUF_CONTENT_TYPE] : acceptedTypes;
  throw new ApiStatusError('NotAcceptable', `only the following media types are accepted: ${accepted.join(', ')}`);
}

function isOffered(encoding: OutputEncoding, form: OutputForm, { tables, messages }: OfferedForms): boolean {
  if (form.as === 'table') return tables && encoding !== 'protobuf';
  return encoding !== 'protobuf' || form.as === 'partial' || messages;
}

/** Whether a client prefers protobuf over JSON, for responses such as errors. */
export function prefersProtobuf(accept: string | undefined): boolean {
  if (accept === undefined || !accept.includes(PROTOBUF_CONTENT_TYPE)) return false;
  const known = parseAccept(accept).find(({ type }) => encodings[type] !== undefined);
  return known?.type === PROTOBUF_CONTENT_TYPE;
}

export const isTrue = (text: string | undefined | null): boolean => text === '1' || text === 'true';

function formOf({ parameters }: MediaRange): OutputForm | undefined {
  const { as, g, v } = parameters;
  if (as === undefined) return { as: 'object' };
  const form = formOfKind[as];
  if (form === undefined || g !== 'meta.k8s.io' || (v !== 'v1' && v !== 'v1beta1')) return undefined;
  return { as: form, version: v };
}

/** Parses the header, sorted by quality, then by order. The cost is linear in its length. */
export function parseAccept(accept: string): readonly MediaRange[] {
  const ranges = accept
    .split(',')
    .slice(0, 64)
    .map(parseRange)
    .filter((range) => range.type !== '' && range.quality > 0);
  return ranges.sort((left, right) => right.quality - left.quality);
}

function parseRange(text: string): MediaRange {
  const [type = '', ...rest] = text.split(';');
  const parameters: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const each of rest) {
    const at = each.indexOf('=');
    if (at > 0)
      parameters[each.slice(0, at).trim().toLowerCase()] = each
        .slice(at + 1)
        .trim()
        .replace(/^"(.*)"$/, '$1');
  }
  const quality = parameters.q === undefined ? 1 : Number(parameters.q);
  return { type: type.trim().toLowerCase(), parameters, quality: Number.isFinite(quality) ? quality : 0 };
}
