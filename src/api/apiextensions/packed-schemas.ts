import { PackedJson } from '../../base/packed-json.ts';
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from './custom-resource-definition.ts';

type Validation = NonNullable<CustomResourceDefinitionVersion['schema']>;

/** Marks objects, not their content: servers of one process that share none of these objects share nothing here. */
const packed = new WeakSet<Validation>();

/** Whether the schema was stored: it is the one that the server has read and validated. */
export const isPacked = (schema: Validation): boolean => packed.has(schema);

/**
 * The same definition with its schemas as compressed text. A schema is most of a definition, and few are read often. A
 * reader finds the schema where it always is; an unchanged schema stays the same object (`schema`) in all later
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
