import { PackedJson } from '../../base/packed-json.ts';
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from './custom-resource-definition.ts';

type Validation = NonNullable<CustomResourceDefinitionVersion['schema']>;

/**
 * The objects that were packed. They are identified by reference, so two servers in one process share an entry only if
 * they share the object.
 */
const packed = new WeakSet<Validation>();

/** Whether the schema was stored by `packSchemas`: the server has read and validated it. */
export const isPacked = (schema: Validation): boolean => packed.has(schema);

/**
 * The same definition with its schemas as compressed text. Schemas are most of a definition, and are rarely read.
 * Readers find the schema at its usual place; an unchanged schema stays the same object (`schema`) in all later
 * versions of the definition.
 */
export function packSchemas(definition: CustomResourceDefinition): CustomResourceDefinition {
  const { spec } = definition;
  // A stored object may lack fields that the type requires.
  const versions = (spec as Partial<typeof spec> | undefined)?.versions;
  if (versions === undefined || versions.every(({ schema }) => schema === undefined || isPacked(schema)))
    return definition;
  return { ...definition, spec: { ...spec, versions: versions.map(packVersion) } };
}

function packVersion(version: CustomResourceDefinitionVersion): CustomResourceDefinitionVersion {
  const { schema } = version;
  const raw = schema?.openAPIV3Schema;
  if (schema === undefined || isPacked(schema) || typeof raw !== 'object' || raw === null) return version;
  const text = new PackedJson(raw);
  const lazy: Validation = Object.defineProperty({}, 'openAPIV3Schema', { enumerable: true, get: () => text.value });
  packed.add(lazy);
  return { ...version, schema: lazy };
}
