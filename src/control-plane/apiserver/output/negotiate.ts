import { lookupTable } from '../../../base/lookup.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';

/** The form in which objects are answered. */
export type OutputForm =
  | { readonly as: 'object' }
  | { readonly as: 'table'; readonly version: MetaVersion }
  | { readonly as: 'partial'; readonly version: MetaVersion };

export type MetaVersion = 'v1' | 'v1beta1';

export interface Output {
  readonly encoding: 'json' | 'yaml';
  readonly form: OutputForm;
  readonly pretty: boolean;
}

interface MediaRange {
  readonly type: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly quality: number;
}

export const acceptedTypes = ['application/json', 'application/yaml'] as const;

const encodings: Readonly<Record<string, 'json' | 'yaml'>> = lookupTable({
  'application/json': 'json',
  'application/yaml': 'yaml',
  'text/yaml': 'yaml',
  'application/x-yaml': 'yaml',
  '*/*': 'json',
  'application/*': 'json',
});
const formOfKind: Readonly<Record<string, 'table' | 'partial'>> = lookupTable({
  Table: 'table',
  PartialObjectMetadata: 'partial',
  PartialObjectMetadataList: 'partial',
});

const plainJson: Output = { encoding: 'json', form: { as: 'object' }, pretty: false };

/**
 * The first of the client's types that can be served; 406 when there is none. kubectl and most clients take the short
 * way. Without `tables` (what is answered has no columns) a Table is a type like any that cannot be served.
 */
export function negotiate(accept: string | undefined, pretty = false, tables = true): Output {
  if (!pretty && (accept === undefined || accept === '' || accept === 'application/json' || accept === '*/*'))
    return plainJson;
  if (accept === undefined || accept.trim() === '') return { ...plainJson, pretty };
  for (const range of parseAccept(accept)) {
    const encoding = encodings[range.type];
    const form = encoding === undefined ? undefined : formOf(range);
    if (encoding !== undefined && form !== undefined && (tables || form.as !== 'table'))
      return { encoding, form, pretty: pretty || isTrue(range.parameters.pretty) };
  }
  throw new ApiStatusError('NotAcceptable', `only the following media types are accepted: ${acceptedTypes.join(', ')}`);
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
