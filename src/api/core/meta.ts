/**
 * Object metadata, list metadata and the references between objects (meta/v1 and core/v1). The fields follow
 * k8s.io/api/core/v1.
 */
import {
  array,
  atomic,
  boolean,
  field,
  fieldSet,
  filled,
  int64,
  smallInt64,
  knownValues,
  map,
  object,
  pointer,
  required,
  set,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer, ObjectSchema } from '../schema/schema.ts';

export const OwnerReferenceSchema = atomic(
  object('OwnerReference', {
    apiVersion: required(5, string),
    kind: required(1, string),
    name: required(3, string),
    uid: required(4, string),
    controller: pointer(6, boolean),
    blockOwnerDeletion: pointer(7, boolean),
  }),
);
export type OwnerReference = Infer<typeof OwnerReferenceSchema>;

const ManagedFieldsOperationTypeSchema = knownValues('Apply', 'Update');
export type ManagedFieldsOperationType = Infer<typeof ManagedFieldsOperationTypeSchema>;

export const ManagedFieldsEntrySchema = object('ManagedFieldsEntry', {
  manager: field(1, string),
  operation: field(2, ManagedFieldsOperationTypeSchema),
  apiVersion: field(3, string),
  time: field(4, time),
  fieldsType: field(6, string),
  fieldsV1: pointer(7, fieldSet),
  subresource: field(8, string),
});
export type ManagedFieldsEntry = Infer<typeof ManagedFieldsEntrySchema>;

const optionalMeta = {
  generateName: field(2, string),
  selfLink: field(4, string),
  resourceVersion: field(6, string),
  generation: field(7, smallInt64),
  creationTimestamp: field(8, time),
  deletionTimestamp: field(9, time),
  deletionGracePeriodSeconds: pointer(10, smallInt64),
  labels: field(11, map(string)),
  annotations: field(12, map(string)),
  ownerReferences: field(13, array(OwnerReferenceSchema, ['uid'])),
  finalizers: field(14, set(string, 'merge')),
  managedFields: field(17, array(ManagedFieldsEntrySchema)),
} as const;

/** After decoding, `name`, `namespace` and `uid` always exist; they are empty if not given. */
export const ObjectMetaSchema = object('ObjectMeta', {
  name: filled(1, string),
  namespace: filled(3, string),
  uid: filled(5, string),
  ...optionalMeta,
});
export type ObjectMeta = Infer<typeof ObjectMetaSchema>;

/** The metadata of a template, in which no field is required. */
export const EmbeddedObjectMetaSchema = object('ObjectMeta', {
  name: field(1, string),
  namespace: field(3, string),
  uid: field(5, string),
  ...optionalMeta,
});
export type EmbeddedObjectMeta = Infer<typeof EmbeddedObjectMetaSchema>;

export const ShardInfoSchema = object('ShardInfo', {
  selector: required(1, string),
});
export type ShardInfo = Infer<typeof ShardInfoSchema>;

export const ListMetaSchema = object('ListMeta', {
  selfLink: field(1, string),
  resourceVersion: field(2, string),
  continue: field(3, string),
  remainingItemCount: pointer(4, int64),
  shardInfo: field(5, ShardInfoSchema),
});
export type ListMeta = Infer<typeof ListMetaSchema>;

/** The schema of a list: `listOf(PodSchema)` is `PodList`. */
export const listOf = <Item extends ObjectSchema>(item: Item) =>
  object(`${item.name}List`, {
    apiVersion: string,
    kind: string,
    metadata: ListMetaSchema,
    items: required(array(item)),
  });

/** The type of a list: `ListOf<Pod>`. */
export interface ListOf<Item> {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ListMeta;
  readonly items: Item[];
}

const LabelSelectorOperatorSchema = knownValues('In', 'NotIn', 'Exists', 'DoesNotExist');
export type LabelSelectorOperator = Infer<typeof LabelSelectorOperatorSchema>;

export const LabelSelectorRequirementSchema = object('LabelSelectorRequirement', {
  key: required(1, string),
  operator: required(2, LabelSelectorOperatorSchema),
  values: field(3, array(string)),
});
export type LabelSelectorRequirement = Infer<typeof LabelSelectorRequirementSchema>;

export const LabelSelectorSchema = atomic(
  object('LabelSelector', {
    matchLabels: field(1, map(string)),
    matchExpressions: field(2, array(LabelSelectorRequirementSchema)),
  }),
);
export type LabelSelector = Infer<typeof LabelSelectorSchema>;

export const LocalObjectReferenceSchema = atomic(object('LocalObjectReference', { name: filled(1, string) }));
export type LocalObjectReference = Infer<typeof LocalObjectReferenceSchema>;

export const ObjectReferenceSchema = atomic(
  object('ObjectReference', {
    kind: field(1, string),
    namespace: field(2, string),
    name: field(3, string),
    uid: field(4, string),
    apiVersion: field(5, string),
    resourceVersion: field(6, string),
    fieldPath: field(7, string),
  }),
);
export type ObjectReference = Infer<typeof ObjectReferenceSchema>;

export const TypedLocalObjectReferenceSchema = atomic(
  object('TypedLocalObjectReference', {
    apiGroup: pointer(1, string),
    kind: required(2, string),
    name: required(3, string),
  }),
);
export type TypedLocalObjectReference = Infer<typeof TypedLocalObjectReferenceSchema>;

export const TypedObjectReferenceSchema = object('TypedObjectReference', {
  apiGroup: pointer(1, string),
  kind: required(2, string),
  name: required(3, string),
  namespace: pointer(4, string),
});
export type TypedObjectReference = Infer<typeof TypedObjectReferenceSchema>;
