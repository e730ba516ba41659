import { isCrdConditionTrue } from '../../apiextensions/custom-resource-definition.ts';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionSpec,
  CustomResourceDefinitionVersion,
} from '../../apiextensions/custom-resource-definition.ts';
import { validateDefaults } from '../../structural/validate-defaults.ts';
import { readJsonSchema } from '../../structural/json-schema.ts';
import type { JsonSchema } from '../../structural/json-schema.ts';
import { PatternTotal } from '../../structural/pattern-total.ts';
import { canonicalJson } from '../../structural/schema-node.ts';
import { unsupportedKeyword, validateStructural } from '../../structural/validate-structural.ts';
import { approvalState, isProtectedGroup } from '../../apiextensions/api-approval.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { checkDns1035Label, checkDnsSubdomain } from '../names.ts';
import { validateJsonSchema } from './validate-json-schema.ts';
import {
  validateColumn,
  validateConversion,
  validateNames,
  validateSelectableFields,
  validateSubresources,
} from './validate-crd-parts.ts';

/** Validates a new CustomResourceDefinition (upstream: ValidateCustomResourceDefinition). */
export function validateCustomResourceDefinition(definition: CustomResourceDefinition): FieldError[] {
  const errors = new FieldErrors();
  const { metadata, spec } = definition;
  if (metadata.name !== `${spec.names.plural}.${spec.group}`)
    errors.invalid('metadata.name', metadata.name, `must be spec.names.plural+"."+spec.group`);
  validateSpec(errors, spec, undefined);
  validateStatus(errors, definition);
  validateApproval(errors, definition, undefined);
  if (spec.preserveUnknownFields === true)
    errors.invalid(
      'spec.preserveUnknownFields',
      true,
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
    );
  return errors.list;
}

export function validateCustomResourceDefinitionUpdate(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition,
): FieldError[] {
  const errors = new FieldErrors();
  const { spec } = definition;
  validateSpec(errors, spec, old.spec);
  const same = (field: string, value: string, before: string): void => {
    if (value !== before) errors.invalid(`spec.${field}`, value, 'field is immutable');
  };
  if (isCrdConditionTrue(old, 'Established')) {
    same('scope', spec.scope, old.spec.scope);
    same('names.kind', spec.names.kind, old.spec.names.kind);
  }
  same('group', spec.group, old.spec.group);
  same('names.plural', spec.names.plural, old.spec.names.plural);
  validateStatus(errors, definition);
  validateApproval(errors, definition, old);
  if (spec.preserveUnknownFields === true && old.spec.preserveUnknownFields !== true)
    errors.invalid(
      'spec.preserveUnknownFields',
      true,
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
    );
  return errors.list;
}

export function validateCustomResourceDefinitionStatusUpdate(definition: CustomResourceDefinition): FieldError[] {
  const errors = new FieldErrors();
  if (definition.status !== undefined) validateNames(errors, definition.status.acceptedNames, 'status.acceptedNames');
  return errors.list;
}

function validateSpec(
  errors: FieldErrors,
  spec: CustomResourceDefinitionSpec,
  old: CustomResourceDefinitionSpec | undefined,
): void {
  const { group, scope, names, versions } = spec;
  const problems = checkDnsSubdomain(group);
  if (group === '') errors.required('spec.group');
  else if (problems.length > 0) errors.invalid('spec.group', group, problems.join(','));
  else if (!group.includes('.')) errors.invalid('spec.group', group, 'should be a domain with at least one dot');
  const scopeText: string = scope;
  if (scopeText === '') errors.required('spec.scope');
  else errors.oneOf('spec.scope', scopeText, ['Cluster', 'Namespaced']);
  validateVersions(errors, spec, old);
  const versionNames = versions.map(({ name }) => name);
  if (new Set(versionNames).size < versionNames.length)
    errors.invalid('spec.versions', versionNames, 'must contain unique version names');
  if (versions.filter(({ storage }) => storage).length !== 1)
    errors.invalid('spec.versions', versionNames, 'must have exactly one version marked as storage version');
  for (const name of ['plural', 'singular', 'kind', 'listKind'] as const)
    if ((names[name] ?? '') === '') errors.required(`spec.names.${name}`);
  validateNames(errors, names, 'spec.names');
  validateConversion(errors, spec.conversion, 'spec.conversion');
}

type Part = 'schema' | 'subresources' | 'additionalPrinterColumns' | 'selectableFields';
const hoisted: Readonly<Record<Part, string>> = {
  schema: 'validation',
  subresources: 'subresources',
  additionalPrinterColumns: 'additionalPrinterColumns',
  selectableFields: 'selectableFields',
};

/**
 * The path of a part in upstream's internal type: a part that is equal in all versions is a field of the spec
 * (upstream: Convert_v1_CustomResourceDefinitionSpec_To_apiextensions_CustomResourceDefinitionSpec).
 */
function pathOf(part: Part, versions: readonly CustomResourceDefinitionVersion[], index: number): string {
  return isCommon(part, versions) ? `spec.${hoisted[part]}` : `spec.versions[${index}].${part}`;
}

/** Comparing all versions takes time, so the result is cached. */
const common = new WeakMap<readonly CustomResourceDefinitionVersion[], Partial<Record<Part, boolean>>>();

function isCommon(part: Part, versions: readonly CustomResourceDefinitionVersion[]): boolean {
  const known = common.get(versions) ?? {};
  common.set(versions, known);
  const [first, ...others] = versions;
  return (known[part] ??=
    first?.[part] !== undefined &&
    others.every((each) => each[part] !== undefined && isAlike(each[part], first[part])));
}

const isAlike = (one: unknown, other: unknown): boolean => one === other || canonicalJson(one) === canonicalJson(other);

/** A schema of a definition, and its path. */
export interface PlacedSchema {
  readonly schema: JsonSchema;
  readonly path: string;
}

/**
 * The schemas that a write changes. A schema that is equal in all versions is listed once; unchanged ones are left out.
 */
export function changedSchemas(
  { spec: { versions } }: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): readonly PlacedSchema[] {
  const found = new Map<string, JsonSchema>();
  for (const [index, version] of versions.entries()) {
    const raw = version.schema?.openAPIV3Schema;
    const before = old?.spec.versions.find(({ name }) => name === version.name)?.schema?.openAPIV3Schema;
    if (raw === undefined || (before !== undefined && isAlike(before, raw))) continue;
    found.set(`${pathOf('schema', versions, index)}.openAPIV3Schema`, readJsonSchema(raw).schema);
  }
  return [...found].map(([path, schema]) => ({ schema, path }));
}

function validateVersions(
  errors: FieldErrors,
  { versions }: CustomResourceDefinitionSpec,
  old: CustomResourceDefinitionSpec | undefined,
): void {
  const schemas = new Set<string>();
  const patterns = new PatternTotal();
  for (const [index, version] of versions.entries()) {
    const complaints = checkDns1035Label(version.name);
    if (complaints.length > 0) errors.invalid(`spec.versions[${index}].name`, version.name, complaints.join(','));
    validateDeprecation(errors, version, `spec.versions[${index}]`);
    const raw = version.schema?.openAPIV3Schema;
    if (raw === undefined || raw === null) {
      errors.required(`spec.versions[${index}].schema.openAPIV3Schema`);
      continue;
    }
    const path = pathOf('schema', versions, index);
    const { schema, problems } = readJsonSchema(raw);
    for (const problem of problems)
      if (problem.kind === 'wrongType') errors.invalidHidden(`${path}.openAPIV3Schema${problem.path}`, problem.message);
    const before = old?.versions.find(({ name }) => name === version.name)?.schema?.openAPIV3Schema;
    // What all versions have alike is checked once, and what an update leaves alone not again.
    if (!schemas.has(path) && before !== raw)
      validateSchema(errors, schema, {
        path: `${path}.openAPIV3Schema`,
        hasStatus: version.subresources?.status !== undefined,
        patterns,
      });
    schemas.add(path);
    validateSubresources(errors, version.subresources, pathOf('subresources', versions, index));
    const columns = pathOf('additionalPrinterColumns', versions, index);
    for (const [place, column] of (version.additionalPrinterColumns ?? []).entries())
      validateColumn(errors, column, `${columns}[${place}]`);
    validateSelectableFields(
      errors,
      version.selectableFields ?? [],
      schema,
      pathOf('selectableFields', versions, index),
    );
  }
}

function validateDeprecation(
  errors: FieldErrors,
  { deprecated, deprecationWarning }: CustomResourceDefinitionVersion,
  path: string,
): void {
  if (deprecationWarning === undefined) return;
  const at = `${path}.deprecationWarning`;
  if (deprecated !== true) return errors.invalid(at, deprecationWarning, 'can only be set for deprecated versions');
  if (deprecationWarning.length > 256) errors.invalid(at, deprecationWarning, 'must be <= 256 characters long');
  if (deprecationWarning === '') errors.invalid(at, deprecationWarning, 'must not be an empty string');
  const odd = /[\p{C}\p{Zl}\p{Zp}]/u.exec(deprecationWarning);
  if (odd !== null)
    errors.invalid(
      at,
      deprecationWarning,
      `must only contain printable UTF-8 characters; non-printable character found at index ${odd.index}`,
    );
}

/** In Go's notation, as upstream lists them. */
const ROOT_FIELDS =
  'Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations';
const rootKeys: ReadonlySet<string> = new Set(
  ROOT_FIELDS.split(' ').map((name) =>
    name === 'XPreserveUnknownFields'
      ? 'x-kubernetes-preserve-unknown-fields'
      : name === 'XValidations'
        ? 'x-kubernetes-validations'
        : `${name.charAt(0).toLowerCase()}${name.slice(1)}`,
  ),
);

interface SchemaPlace {
  readonly path: string;
  readonly hasStatus: boolean;
  /** The patterns of all versions. */
  readonly patterns: PatternTotal;
}

function validateSchema(errors: FieldErrors, schema: JsonSchema, { path, hasStatus, patterns }: SchemaPlace): void {
  if (hasStatus && (schema.type ?? '') !== '' && schema.type !== 'object')
    errors.invalid(
      `${path}.type`,
      schema.type,
      'only "object" is allowed as the type at the root of the schema if the status subresource is enabled',
    );
  if (hasStatus && Object.keys(schema).some((key) => !rootKeys.has(key)))
    errors.invalidHidden(
      path,
      `only [${ROOT_FIELDS}] fields are allowed at the root of the schema if the status subresource is enabled`,
    );
  if (schema.nullable === true) errors.forbidden(`${path}.nullable`, 'nullable cannot be true at the root');
  const found = errors.list.length;
  const unsupported = unsupportedKeyword(schema);
  const structural = unsupported === undefined ? validateStructural(schema, path, patterns) : [];
  for (const { field, message, type } of structural) errors.list.push({ field, message, type });
  if (unsupported === undefined && structural.length === 0) validateDefaults(errors, schema, path);
  validateJsonSchema(errors, schema, { path, isRoot: true });
  // Most of these keywords have an error of their own.
  if (unsupported !== undefined && errors.list.length === found) errors.invalid(path, '', unsupported);
}

function validateStatus(errors: FieldErrors, { spec, status }: CustomResourceDefinition): void {
  const stored = status?.storedVersions ?? [];
  if (status !== undefined) validateNames(errors, status.acceptedNames, 'status.acceptedNames');
  if (stored.length === 0)
    return errors.invalid('status.storedVersions', null, 'must have at least one stored version');
  for (const { name, storage } of spec.versions)
    if (storage && !stored.includes(name))
      errors.invalid('status.storedVersions', stored, `must have the storage version ${name}`);
  for (const [index, version] of stored.entries())
    if (!spec.versions.some(({ name }) => name === version))
      errors.invalid(
        `status.storedVersions[${index}]`,
        version,
        `missing from spec.versions; ${version} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${version} and removes ${version} from status.storedVersions`,
      );
}

/** Community groups need an approval (upstream: validateAPIApproval). */
function validateApproval(
  errors: FieldErrors,
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): void {
  if (!isProtectedGroup(definition.spec.group)) return;
  const { state, reason } = approvalState(definition.metadata.annotations);
  if (old !== undefined && approvalState(old.metadata.annotations).state === state) return;
  const at = 'metadata.annotations[api-approved.kubernetes.io]';
  const value = definition.metadata.annotations?.['api-approved.kubernetes.io'] ?? '';
  if (state === 'missing') errors.required(at, reason);
  else if (state === 'invalid') errors.invalid(at, value, reason);
}
