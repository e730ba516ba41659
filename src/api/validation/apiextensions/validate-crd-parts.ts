import type {
  CustomResourceColumnDefinition,
  CustomResourceConversion,
  CustomResourceDefinitionNames,
  CustomResourceSubresources,
  SelectableField,
} from '../../apiextensions/custom-resource-definition.ts';
import { schemaAtPath } from '../../structural/schema-at-path.ts';
import type { JsonSchema } from '../../structural/json-schema.ts';
import { validateClient } from '../access/validate-webhooks.ts';
import type { FieldErrors } from '../field-error.ts';
import { checkDns1035Label } from '../names.ts';

/** Each name that is set must be a label of RFC 1035 (upstream: ValidateCustomResourceDefinitionNames). */
/** The status repeats the names, and must fit into the object, too. Upstream has no limit. */
const MOST_NAMES = 2000;

export function validateNames(errors: FieldErrors, names: CustomResourceDefinitionNames, path: string): void {
  const { plural, singular = '', kind, listKind = '', shortNames = [], categories = [] } = names;
  const check = (field: string, text: string, prefix = ''): void => {
    const complaints = text === '' ? [] : checkDns1035Label(prefix === '' ? text : text.toLowerCase());
    if (complaints.length > 0) errors.invalid(`${path}.${field}`, text, `${prefix}${complaints.join(',')}`);
  };
  const mixed = 'may have mixed case, but should otherwise match: ';
  check('plural', plural);
  check('singular', singular);
  check('kind', kind, mixed);
  check('listKind', listKind, mixed);
  for (const [field, list] of Object.entries({ shortNames, categories }))
    if (list.length > MOST_NAMES) return errors.tooMany(`${path}.${field}`, list.length, MOST_NAMES);
  for (const [index, name] of shortNames.entries()) check(`shortNames[${index}]`, name);
  if (kind !== '' && kind === listKind)
    errors.invalid(`${path}.listKind`, listKind, 'kind and listKind may not be the same');
  for (const [index, name] of categories.entries()) check(`categories[${index}]`, name);
}

const columnTypes = ['boolean', 'date', 'integer', 'number', 'string'];
const columnFormats = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];

export function validateColumn(errors: FieldErrors, column: CustomResourceColumnDefinition, path: string): void {
  const { name, type, format = '', jsonPath } = column;
  const among = (all: readonly string[]): string => `must be one of ${all.join(',')}`;
  if (name === '') errors.required(`${path}.name`);
  if (type === '') errors.required(`${path}.type`, among(columnTypes));
  else if (!columnTypes.includes(type)) errors.invalid(`${path}.type`, type, among(columnTypes));
  if (format !== '' && !columnFormats.includes(format)) errors.invalid(`${path}.format`, format, among(columnFormats));
  if (jsonPath === '') errors.required(`${path}.JSONPath`);
  else validateSimplePath(errors, jsonPath, `${path}.JSONPath`);
}

function validateSimplePath(errors: FieldErrors, jsonPath: string, path: string): boolean {
  if (jsonPath.startsWith('.')) return true;
  errors.invalid(path, jsonPath, 'must be a simple json path starting with .');
  return false;
}

export function validateSubresources(
  errors: FieldErrors,
  subresources: CustomResourceSubresources | undefined,
  path: string,
): void {
  const scale = subresources?.scale;
  if (scale === undefined) return;
  const below = (field: keyof typeof scale, roots: readonly string[], detail: string): void => {
    const value = scale[field] ?? '';
    const at = `${path}.scale.${field}`;
    if (value === '') {
      if (field !== 'labelSelectorPath') errors.required(at);
    } else if (validateSimplePath(errors, value, at) && !roots.some((root) => value.startsWith(root)))
      errors.invalid(at, value, detail);
  };
  below('specReplicasPath', ['.spec.'], 'should be a json path under .spec');
  below('statusReplicasPath', ['.status.'], 'should be a json path under .status');
  below('labelSelectorPath', ['.spec.', '.status.'], 'should be a json path under either .spec or .status');
}

const MOST_SELECTABLE_FIELDS = 8;

export function validateSelectableFields(
  errors: FieldErrors,
  fields: readonly SelectableField[],
  schema: JsonSchema | undefined,
  path: string,
): void {
  const seen = new Set<string>();
  for (const [index, { jsonPath }] of fields.entries()) {
    const at = `${path}[${index}].jsonPath`;
    if (jsonPath === '') {
      errors.required(at);
      continue;
    }
    const found = schema === undefined ? 'the version has no schema' : schemaAtPath(schema, jsonPath);
    if (typeof found === 'string') {
      errors.invalid(at, jsonPath, `is an invalid path: ${found}`);
      continue;
    }
    if (/^\.metadata(\.|$)/.test(jsonPath)) errors.invalid(at, jsonPath, 'must not point to fields in metadata');
    if (!['string', 'boolean', 'integer'].includes(found.type ?? ''))
      errors.invalid(
        at,
        jsonPath,
        'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
      );
    if (seen.has(jsonPath)) errors.duplicate(at, jsonPath);
    seen.add(jsonPath);
  }
  if (seen.size > MOST_SELECTABLE_FIELDS) errors.tooMany(path, seen.size, MOST_SELECTABLE_FIELDS);
}

const knownReviews = ['v1', 'v1beta1'];

/** Paths are those of upstream's internal type, which has the webhook's fields next to the strategy. */
export function validateConversion(
  errors: FieldErrors,
  conversion: CustomResourceConversion | undefined,
  path: string,
): void {
  if (conversion === undefined) return;
  const { strategy, webhook } = conversion;
  if (strategy === '') errors.required(`${path}.strategy`);
  else errors.oneOf(`${path}.strategy`, strategy, ['None', 'Webhook']);
  const reviews = webhook?.conversionReviewVersions ?? [];
  if (strategy !== 'Webhook') {
    const detail = 'should not be set when strategy is not set to Webhook';
    if (webhook?.clientConfig !== undefined) errors.forbidden(`${path}.webhookClientConfig`, detail);
    if (reviews.length > 0) errors.forbidden(`${path}.conversionReviewVersions`, detail);
    return;
  }
  if (webhook?.clientConfig === undefined)
    errors.required(`${path}.webhookClientConfig`, 'required when strategy is set to Webhook');
  else validateClient(errors, `${path}.webhookClientConfig`, webhook.clientConfig);
  if (reviews.length === 0) return errors.required(`${path}.conversionReviewVersions`);
  for (const [index, review] of reviews.entries()) {
    const at = `${path}.conversionReviewVersions[${index}]`;
    if (reviews.indexOf(review) < index) errors.invalid(at, review, 'duplicate version');
    else errors.invalidEach(at, review, checkDns1035Label(review));
  }
  if (!reviews.some((review) => knownReviews.includes(review)))
    errors.invalid(
      `${path}.conversionReviewVersions`,
      reviews,
      `must include at least one of ${knownReviews.join(', ')}`,
    );
}
