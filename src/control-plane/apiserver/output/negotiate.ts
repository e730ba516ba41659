import { lookupTable } from '../../../base/lookup.ts';
import { PROTOBUF_CONTENT_TYPE } from '../../../api/protobuf/decode-protobuf.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';

/** The form in which objects are answered. */
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

/** Which forms there are of what is answered, beside the object as JSON. */
export interface OfferedForms {
  /** It has columns. */
  readonly tables: boolean;
  /** Its kind has a message. Metadata alone has one for every kind; a Table has none. */
  readonly messages: boolean;
}
const allForms: OfferedForms = { tables: true, messages: true };

/**
 * The first of the client's types that can be served; 406 when there is none. kubectl and most clients take the short
 * way. A form that is not offered is a type like any that cannot be served.
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

/** Whether a client reads protobuf rather than JSON, for what is answered in place of what it asked for. */
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

/** Better qualities first, else in the order of the header. A header of any length is read once. */
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
