import { isRecord } from '../../base/json-record.ts';
import { ObjectMetaSchema } from '../../api/core/meta.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import type { Decoded, DecodeError } from '../../api/schema/decode.ts';
import { dropZeros } from '../../api/protobuf/drop-zeros.ts';
import { decodeAny } from '../../api/schema/decode.ts';
import { applySchemaDefaults } from '../../api/structural/apply-schema-defaults.ts';
import { coerceEmbedded } from '../../api/structural/embedded-resources.ts';
import { prune } from '../../api/structural/prune.ts';
import type { SchemaNode } from '../../api/structural/schema-node.ts';

/** Decodes embedded objects of custom kinds by the structural schema: unknown fields are dropped and reported. */
export function readCustomBody(value: unknown, root: SchemaNode): Decoded<unknown> {
  if (!isRecord(value)) return { value: {}, errors: [], warnings: [] };
  const metadata = decodeAny(ObjectMetaSchema, value['metadata'] ?? {}, {
    mode: 'lenient',
    noHints: true,
    at: ['metadata'],
  });
  const dropped: string[] = [];
  const kept = coerceEmbedded(prune(value, root, dropped), root);
  const warnings = dropped.sort().map(
    (path): DecodeError => ({
      problem: 'unknownField',
      path: path.split('.'),
      message: `unknown field ${JSON.stringify(path)}`,
    }),
  );
  return {
    // Metadata follows the rules of all objects: Go leaves out empty lists.
    value: { ...kept, metadata: dropZeros(metadata.value as object, ObjectMetaSchema) },
    errors: metadata.errors,
    warnings: [...warnings, ...metadata.warnings],
  };
}

/** Returns the object pruned, as it is stored. */
export function pruned(object: ApiObject, root: SchemaNode): ApiObject {
  return prune(object as unknown as Readonly<Record<string, unknown>>, root) as unknown as ApiObject;
}

/** Returns the object with defaults and pruned, as the server would have stored it. */
export function normalise(object: ApiObject, root: SchemaNode): ApiObject {
  // Metadata is not pruned, so the result is still an object.
  return applySchemaDefaults(pruned(object, root), root);
}
