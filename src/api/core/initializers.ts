/**
 * Initializers of meta/v1, an alpha feature that upstream removed in 1.16: the controllers that must process an object
 * before it becomes visible. Metadata has the field only while the feature is enabled.
 */
import { array, field, object, required, string } from '../schema/schema.ts';
import type { Infer, ObjectSchema } from '../schema/schema.ts';
import { StatusSchema } from '../status/status.ts';
import { EmbeddedObjectMetaSchema, ObjectMetaSchema } from './meta.ts';
import type { ObjectMeta } from './meta.ts';

export const InitializerSchema = object('Initializer', { name: required(1, string) });

export const InitializersSchema = object('Initializers', {
  /** Only the first one may act; it then removes its own name. */
  pending: field(1, array(InitializerSchema, ['name'])),
  /** Why an initializer refused the object. */
  result: field(2, StatusSchema),
});
export type Initializers = Infer<typeof InitializersSchema>;

const initializers = field(16, InitializersSchema);
export const InitializableMetaSchema = object('ObjectMeta', { ...ObjectMetaSchema.fields, initializers });
export const InitializableEmbeddedMetaSchema = object('ObjectMeta', {
  ...EmbeddedObjectMetaSchema.fields,
  initializers,
});

/** The metadata while the feature is enabled. */
export const initializableMeta: ReadonlyMap<ObjectSchema, ObjectSchema> = new Map<ObjectSchema, ObjectSchema>([
  [ObjectMetaSchema, InitializableMetaSchema],
  [EmbeddedObjectMetaSchema, InitializableEmbeddedMetaSchema],
]);

type MayPend = ObjectMeta & { readonly initializers?: Initializers };

/** Absent: the object is initialized. */
export function initializersOf(metadata: ObjectMeta): Initializers | undefined {
  return (metadata as MayPend).initializers;
}

export function withInitializers(metadata: ObjectMeta, value: Initializers | undefined): ObjectMeta {
  if (value === initializersOf(metadata)) return metadata;
  const { initializers: _, ...rest } = metadata as MayPend;
  return value === undefined ? rest : ({ ...rest, initializers: value } as ObjectMeta);
}
