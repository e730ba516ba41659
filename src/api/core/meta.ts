/** Object metadata, list metadata and the references between objects (meta/v1 and core/v1). Which fields exist follows k8s.io/api/core/v1. */
import {
  array,
  atomic,
  boolean,
  int64,
  map,
  object,
  oneOf,
  opaque,
  required,
  set,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';

export const OwnerReferenceSchema = atomic(
  object('OwnerReference', {
    apiVersion: required(string),
    kind: required(string),
    name: required(string),
    uid: required(string),
    controller: boolean,
    blockOwnerDeletion: boolean,
  }),
);
export type OwnerReference = Infer<typeof OwnerReferenceSchema>;

export const ManagedFieldsOperationTypeSchema = oneOf('Apply', 'Update');
export type ManagedFieldsOperationType = Infer<typeof ManagedFieldsOperationTypeSchema>;

export const ManagedFieldsEntrySchema = object('ManagedFieldsEntry', {
  manager: string,
  operation: ManagedFieldsOperationTypeSchema,
  apiVersion: string,
  time: time,
  fieldsType: string,
  fieldsV1: opaque,
  subresource: string,
});
export type ManagedFieldsEntry = Infer<typeof ManagedFieldsEntrySchema>;

const optionalMeta = {
  generateName: string,
  selfLink: string,
  resourceVersion: string,
  generation: int64,
  creationTimestamp: time,
  deletionTimestamp: time,
  deletionGracePeriodSeconds: int64,
  labels: map(string),
  annotations: map(string),
  ownerReferences: array(OwnerReferenceSchema, ['uid']),
  finalizers: set(string, 'merge'),
  managedFields: array(ManagedFieldsEntrySchema),
} as const;

/** `name`, `namespace` and `uid` are always there after decoding; empty when not given. */
export const ObjectMetaSchema = object('ObjectMeta', {
  name: required(string),
  namespace: required(string),
  uid: required(string),
  ...optionalMeta,
});
export type ObjectMeta = Infer<typeof ObjectMetaSchema>;

/** Metadata inside a template, where nothing is mandatory. */
export const EmbeddedObjectMetaSchema = object('ObjectMeta', {
  name: string,
  namespace: string,
  uid: string,
  ...optionalMeta,
});
export type EmbeddedObjectMeta = Infer<typeof EmbeddedObjectMetaSchema>;

export const ShardInfoSchema = object('ShardInfo', {
  selector: required(string),
});
export type ShardInfo = Infer<typeof ShardInfoSchema>;

export const ListMetaSchema = object('ListMeta', {
  selfLink: string,
  resourceVersion: string,
  continue: string,
  remainingItemCount: int64,
  shardInfo: ShardInfoSchema,
});
export type ListMeta = Infer<typeof ListMetaSchema>;

export const LabelSelectorOperatorSchema = oneOf('In', 'NotIn', 'Exists', 'DoesNotExist');
export type LabelSelectorOperator = Infer<typeof LabelSelectorOperatorSchema>;

export const LabelSelectorRequirementSchema = object('LabelSelectorRequirement', {
  key: required(string),
  operator: required(LabelSelectorOperatorSchema),
  values: array(string),
});
export type LabelSelectorRequirement = Infer<typeof LabelSelectorRequirementSchema>;

export const LabelSelectorSchema = atomic(
  object('LabelSelector', {
    matchLabels: map(string),
    matchExpressions: array(LabelSelectorRequirementSchema),
  }),
);
export type LabelSelector = Infer<typeof LabelSelectorSchema>;

export const LocalObjectReferenceSchema = atomic(object('LocalObjectReference', { name: required(string) }));
export type LocalObjectReference = Infer<typeof LocalObjectReferenceSchema>;

export const ObjectReferenceSchema = atomic(
  object('ObjectReference', {
    kind: string,
    namespace: string,
    name: string,
    uid: string,
    apiVersion: string,
    resourceVersion: string,
    fieldPath: string,
  }),
);
export type ObjectReference = Infer<typeof ObjectReferenceSchema>;

export const TypedLocalObjectReferenceSchema = atomic(
  object('TypedLocalObjectReference', {
    apiGroup: string,
    kind: required(string),
    name: required(string),
  }),
);
export type TypedLocalObjectReference = Infer<typeof TypedLocalObjectReferenceSchema>;

export const TypedObjectReferenceSchema = object('TypedObjectReference', {
  apiGroup: string,
  kind: required(string),
  name: required(string),
  namespace: string,
});
export type TypedObjectReference = Infer<typeof TypedObjectReferenceSchema>;
