import type {
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
} from '../../api/apiextensions/custom-resource-definition.ts';
import { isCrdConditionTrue, storageVersionOf } from '../../api/apiextensions/custom-resource-definition.ts';
import type { ApiObject, ResourceType } from '../../api/client/resource-type.ts';
import { readJsonSchema } from '../../api/structural/json-schema.ts';
import { applySchemaDefaults } from '../../api/structural/apply-schema-defaults.ts';
import { compileJsonPath } from '../../api/structural/json-path.ts';
import type { JsonSchema } from '../../api/structural/json-schema.ts';
import { compileSchema } from '../../api/structural/schema-node.ts';
import type { SchemaNode } from '../../api/structural/schema-node.ts';
import { checkDnsSubdomain } from '../../api/validation/names.ts';
import type { ResourceDefinition, ResourceRules, ResourceVerb } from '../model/resource-definition.ts';
import type { ConversionCalls } from './convert-by-webhook.ts';
import { convertByWebhook } from './convert-by-webhook.ts';
import { converted, convertedTo, renamed, renamedTo } from './convert-object.ts';
import { normalise, pruned, readCustomBody } from './custom-codec.ts';
import { customRules } from './custom-rules.ts';
import { customScale } from './custom-scale.ts';
import { deprecationOf } from './deprecation.ts';
import { objectSchemaOf } from './object-schema.ts';
import { openApiOf } from './open-api.ts';
import { printerColumns } from './printer-columns.ts';
import type { FormatAge } from './printer-columns.ts';

/** A lazily computed value: most versions of most kinds are never used. */
function lazily<T extends object>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

/** A value that is computed again if it is needed after the garbage collector has removed it. */
function whileUsed<T extends object>(make: () => T): () => T {
  let made: WeakRef<T> | undefined;
  return () => {
    let value = made?.deref();
    if (value === undefined) made = new WeakRef((value = make()));
    return value;
  };
}

const noRules: ResourceRules<ApiObject> = {
  applyDefaults: (object) => object,
  validate: () => [],
  validateUpdate: () => [],
};

/** Returns the storage of a custom kind for objects of any version. Changes of the definition do not affect it. */
export function customPlace({ spec: { group, names, scope } }: CustomResourceDefinition): ResourceDefinition {
  return {
    type: { group, version: '', kind: names.kind, plural: names.plural, namespaced: scope === 'Namespaced' },
    isInternal: true,
    singular: '',
    schema: { kind: 'object', name: names.kind, fields: {}, custom: {} },
    storagePath: `${group}/${names.plural}`,
    rules: noRules,
  };
}

/** The verbs of custom kinds in upstream's order (upstream: customresource_discovery_controller.go). */
const announcedVerbs: readonly ResourceVerb[] = [
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'create',
  'update',
  'watch',
];
/** The verbs of a terminating kind. Objects can be changed, so that finalizers can be removed. */
const whileTerminating: readonly ResourceVerb[] = ['delete', 'deletecollection', 'get', 'list', 'watch'];

/** The dependencies of the definitions of custom kinds. */
export interface CustomKindParts {
  readonly formatAge: FormatAge;
  readonly conversion: ConversionCalls;
}

/** The definitions of the versions that are served. */
export function customVersions(
  crd: CustomResourceDefinition,
  place: ResourceDefinition,
  parts: CustomKindParts,
): readonly ResourceDefinition[] {
  const nodes = new Map(crd.spec.versions.map((version) => [version.name, schemaNodeOf(version)]));
  const made: ResourceDefinition[] = [];
  for (const version of crd.spec.versions) {
    if (!version.served) continue;
    const siblings = (): readonly ResourceDefinition[] => made.filter(({ type }) => type.version !== version.name);
    made.push(customVersion(crd, version, { ...parts, place, nodes, siblings }));
  }
  return made;
}

interface Surroundings extends CustomKindParts {
  readonly place: ResourceDefinition;
  /** The schemas of all versions, including those that are not served. */
  readonly nodes: ReadonlyMap<string, VersionNode>;
  readonly siblings: () => readonly ResourceDefinition[];
}

interface VersionNode {
  readonly json: () => JsonSchema;
  readonly node: () => SchemaNode;
}

function schemaNodeOf({ schema }: CustomResourceDefinitionVersion): VersionNode {
  const json = whileUsed(() => readJsonSchema(schema?.openAPIV3Schema).schema);
  return { json, node: lazily(() => compileSchema(json())) };
}

/** Returns the conversion between stored objects and a version. */
function conversionOf(
  crd: CustomResourceDefinition,
  { name }: CustomResourceDefinitionVersion,
  { nodes, place, conversion }: Surroundings,
): NonNullable<ResourceDefinition['storedAs']> {
  const { group, conversion: wanted } = crd.spec;
  const version = storageVersionOf(crd);
  const [shownVersion, storedVersion] = [`${group}/${name}`, `${group}/${version}`];
  const nodeOf = (of: string): SchemaNode => nodes.get(of)?.node() ?? compileSchema({});
  const own = (object: ApiObject): ApiObject => normalise(object, nodeOf(name));
  // As upstream, a stored object gets only the defaults of the version in which it is stored.
  const before = (object: ApiObject): ApiObject =>
    applySchemaDefaults(object, nodeOf((object.apiVersion ?? '').slice(group.length + 1)));
  const after = (object: ApiObject): ApiObject => pruned(object, nodeOf(name));
  const stored = (object: ApiObject): ApiObject => pruned(object, nodeOf(version));
  const whole = { stored: place.type, version };
  if (wanted?.strategy !== 'Webhook') {
    const show = (object: ApiObject): ApiObject =>
      object.apiVersion === shownVersion ? own(object) : after({ ...before(object), apiVersion: shownVersion });
    return { ...whole, ...renamed(show), toStored: renamedTo(storedVersion, stored) };
  }
  const convert = convertByWebhook(crd, conversion);
  return {
    ...whole,
    ...converted(shownVersion, { own, before, after }, convert),
    toStored: convertedTo(storedVersion, stored, convert),
  };
}

function customVersion(
  crd: CustomResourceDefinition,
  version: CustomResourceDefinitionVersion,
  surroundings: Surroundings,
): ResourceDefinition {
  const { place, formatAge, nodes, siblings } = surroundings;
  const names = crd.status?.acceptedNames ?? crd.spec.names;
  const type: ResourceType = { ...place.type, version: version.name, kind: names.kind };
  const { json, node } = nodes.get(version.name) ?? schemaNodeOf(version);
  const schema = lazily(() => objectSchemaOf(names.kind, node()));
  const hasStatus = version.subresources?.status !== undefined;
  const { scale } = version.subresources ?? {};
  const rules = customRules(node, scale);
  const deprecation = deprecationOf(crd, version);
  return {
    type,
    singular: names.singular ?? '',
    ...(names.shortNames !== undefined && { shortNames: names.shortNames }),
    ...(names.categories !== undefined && { categories: names.categories }),
    ...(names.listKind !== undefined && { listKind: names.listKind }),
    ...(deprecation !== undefined && { deprecation }),
    announcedVerbs,
    ...(isCrdConditionTrue(crd, 'Terminating') && {
      announcedVerbs: whileTerminating,
      refusesCreation: 'create not allowed while custom resource definition is terminating',
    }),
    get schema() {
      return schema();
    },
    readBody: (value) => readCustomBody(value, node()),
    openApi: (dialect) => ({ ...openApiOf(json(), dialect), ...selectableInOpenApi(version) }),
    storagePath: place.storagePath,
    storedAs: conversionOf(crd, version, surroundings),
    siblings,
    rules: { ...rules, validateName: checkDnsSubdomain },
    ...selectable(version),
    columns: printerColumns(version.additionalPrinterColumns, formatAge),
    hasNoAge: true,
    hasStatus,
    countsGeneration: true,
    ...(!hasStatus && { alsoCounts: statusChanged }),
    ...(scale !== undefined && { views: [customScale(scale, rules.validateUpdate)] }),
  };
}

/** Whether the status changed. Without the status subresource, that increases the generation. */
function statusChanged(object: ApiObject, old: ApiObject): boolean {
  const statusOf = (of: ApiObject): unknown => (of as { readonly status?: unknown }).status;
  return JSON.stringify(statusOf(object)) !== JSON.stringify(statusOf(old));
}

function selectable({
  selectableFields = [],
}: CustomResourceDefinitionVersion): Pick<ResourceDefinition, 'selectableFields'> {
  const paths = selectableFields.map(({ jsonPath }) => ({
    name: jsonPath.replace(/^\./, ''),
    find: compileJsonPath(jsonPath),
  }));
  return {
    selectableFields: (object) =>
      Object.fromEntries(paths.map(({ name, find }) => [name, textOf(find(object))] as const)),
  };
}

/** Upstream: controller/openapi/builder buildSelectableFields. */
function selectableInOpenApi({ selectableFields = [] }: CustomResourceDefinitionVersion): object {
  if (selectableFields.length === 0) return {};
  const paths = selectableFields.map(({ jsonPath }) => ({ fieldPath: jsonPath.replace(/^\./, '') }));
  return { 'x-kubernetes-selectable-fields': paths };
}

const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint'
    ? String(value)
    : '';
