import type { FieldMap, ObjectSchema, Schema } from '../../api/schema/schema.ts';

const META = 'io.k8s.apimachinery.pkg.apis.meta.v1';
const CORE = 'io.k8s.api.core.v1';

/** Types of meta/v1. */
const metaTypes: ReadonlySet<string> = new Set([
  'Condition',
  'GroupResource',
  'DeleteOptions',
  'FieldSelectorRequirement',
  'LabelSelector',
  'LabelSelectorRequirement',
  'ListMeta',
  'ManagedFieldsEntry',
  'ObjectMeta',
  'OwnerReference',
  'Preconditions',
  'ShardInfo',
  'Status',
  'StatusCause',
  'StatusDetails',
]);
/** Types of core/v1 that kinds of other groups use and no core kind does. */
const coreTypes: ReadonlySet<string> = new Set([
  'PodTemplateSpec',
  'TopologySelectorLabelRequirement',
  'TopologySelectorTerm',
]);

export const named = {
  time: `${META}.Time`,
  microTime: `${META}.MicroTime`,
  duration: `${META}.Duration`,
  fieldsV1: `${META}.FieldsV1`,
  patch: `${META}.Patch`,
  status: `${META}.Status`,
  deleteOptions: `${META}.DeleteOptions`,
  intOrString: 'io.k8s.apimachinery.pkg.util.intstr.IntOrString',
  quantity: 'io.k8s.apimachinery.pkg.api.resource.Quantity',
  rawExtension: 'io.k8s.apimachinery.pkg.runtime.RawExtension',
};

/** Groups whose types have the package of another server. */
const ownPackages: ReadonlyMap<string, string> = new Map([
  ['apiregistration.k8s.io', 'io.k8s.kube-aggregator.pkg.apis.apiregistration'],
]);

/** Returns the prefix of upstream's Go types of a group: `io.k8s.api.apps.v1`. */
export function packageOf({ group, version }: { readonly group: string; readonly version: string }): string {
  const own = ownPackages.get(group);
  if (own !== undefined) return `${own}.${version}`;
  return `io.k8s.api.${group === '' ? 'core' : (group.split('.')[0] ?? group)}.${version}`;
}

/**
 * Assigns full names to object types. A type belongs to the first group that uses it, so the core group must be
 * registered first, because shared types are core's. Types of the same name in different groups (Event, EndpointPort)
 * are distinguished by their fields: copies that only add a list or map type share them.
 */
export class DefinitionNames {
  readonly #names = new Map<FieldMap, string>();
  readonly #atomic = new Set<string>();

  nameOf(schema: ObjectSchema): string {
    if (metaTypes.has(schema.name)) return `${META}.${schema.name}`;
    const name = this.#names.get(schema.fields);
    if (name === undefined) throw new TypeError(`no group has shown the type ${schema.name}`);
    return name;
  }

  /** Assigns a name to a type, without its nested types. */
  call(schema: ObjectSchema, name: string): void {
    this.#names.set(schema.fields, name);
  }

  /** Registers all types of a kind of this group and version. */
  show(schema: Schema, home: { readonly group: string; readonly version: string }): void {
    if (schema.kind === 'array') this.show(schema.items, home);
    if (schema.kind === 'map') this.show(schema.values, home);
    if (schema.kind !== 'object') return;
    const known = this.#names.get(schema.fields);
    if (known !== undefined) return this.#noteAtomic(known, schema);
    const name = `${metaTypes.has(schema.name) ? META : coreTypes.has(schema.name) ? CORE : packageOf(home)}.${schema.name}`;
    this.#names.set(schema.fields, name);
    this.#noteAtomic(name, schema);
    for (const field of Object.values(schema.fields)) this.show(field.schema, home);
  }

  /** Whether the type has one owner as a whole, unless a field overrides that. */
  isAtomic(name: string): boolean {
    return this.#atomic.has(name);
  }

  #noteAtomic(name: string, { atomic }: ObjectSchema): void {
    if (atomic === true) this.#atomic.add(name);
  }
}
