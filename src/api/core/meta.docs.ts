import { describe } from '../schema/docs.ts';
import type { FieldDocs, TypeDocs } from '../schema/docs.ts';
import {
  OwnerReferenceSchema,
  ManagedFieldsEntrySchema,
  ObjectMetaSchema,
  EmbeddedObjectMetaSchema,
  ShardInfoSchema,
  ListMetaSchema,
  LabelSelectorRequirementSchema,
  LabelSelectorSchema,
  LocalObjectReferenceSchema,
  ObjectReferenceSchema,
  TypedLocalObjectReferenceSchema,
  TypedObjectReferenceSchema,
} from './meta.ts';

export const objectMetaDocs: FieldDocs<(typeof ObjectMetaSchema)['fields']> = {
  name: 'The name, unique among the objects of one kind in a namespace. Cannot be changed.',
  namespace: 'The namespace of the object. Empty for cluster-scoped kinds. Cannot be changed.',
  uid: 'A unique id. A later object with the same name has another. Set by the API server.',
  generateName: 'A prefix for the name: the API server appends random letters when name is empty.',
  selfLink: 'Deprecated: always empty.',
  resourceVersion: 'Changes with every write. An update with an older value is rejected.',
  generation: 'The number of the desired state: increases when the spec changes. Set by the API server.',
  // Starts with upstream's words, because the Conformance suite matches them.
  creationTimestamp: 'When the object was created. Set by the API server.',
  deletionTimestamp:
    'When the object will be deleted; set once its deletion was requested. The object is deleted after its finalizers were removed and its grace period has passed.',
  deletionGracePeriodSeconds: 'The grace period for termination, in seconds. Set together with `deletionTimestamp`.',
  labels: 'Keys and values by which selectors find the object.',
  annotations: 'Keys and values for tools and controllers. Selectors do not use them.',
  ownerReferences:
    'The owners of this object: it is deleted when all of them are gone. At most one of them is its controller.',
  finalizers:
    'Tasks that must be completed before the object is deleted. The controller that completes a task removes its entry.',
  managedFields: 'Which manager set which fields, for server-side apply. Maintained by the API server.',
};

export const docs: readonly TypeDocs[] = [
  describe(OwnerReferenceSchema, 'An owner of an object: in the same namespace, or cluster-scoped.', {
    apiVersion: 'Group and version of the owner.',
    kind: 'The kind of the owner.',
    name: 'The name of the owner.',
    uid: 'The uid of the owner; another object with the same name is not the owner.',
    controller: 'Whether the owner is the controller that manages this object. Default false.',
    blockOwnerDeletion: 'Whether a foreground deletion of the owner waits until this object is deleted. Default false.',
  }),
  describe(ManagedFieldsEntrySchema, 'The fields that one manager set with one kind of request.', {
    manager: 'The name of the manager.',
    operation: 'Apply or Update.',
    apiVersion: 'The API version of the fields.',
    time: 'When the set of fields last changed.',
    fieldsType: 'The form of `fieldsV1`; always FieldsV1.',
    fieldsV1: 'The fields, in the structure of the object.',
    subresource: 'The subresource of the request; empty for the object itself.',
  }),
  describe(ObjectMetaSchema, 'Metadata of an object.', objectMetaDocs),
  describe(EmbeddedObjectMetaSchema, 'Metadata of an object.', objectMetaDocs),
  describe(ShardInfoSchema, 'The shard of all objects that a list covers.', {
    selector: 'The selector of the shard.',
  }),
  describe(ListMetaSchema, 'Metadata of a list.', {
    selfLink: 'Deprecated: always empty.',
    resourceVersion: 'The version of the list; a watch can start here.',
    continue: 'Set when there are more objects: the value of `continue` for the next request.',
    remainingItemCount: 'The number of objects after this page, if known.',
    shardInfo: 'The shard of all objects that the list covers; absent when it covers all.',
  }),
  describe(LabelSelectorRequirementSchema, 'A condition on one label.', {
    key: 'The key of the label.',
    operator: 'In, NotIn, Exists or DoesNotExist.',
    values: 'The values for In and NotIn; empty for the other operators.',
  }),
  describe(
    LabelSelectorSchema,
    'Selects objects by their labels; all conditions must be met. An empty selector selects all objects, an absent one none.',
    {
      matchLabels: 'Labels that must have exactly these values.',
      matchExpressions: 'Conditions on labels.',
    },
  ),
  describe(LocalObjectReferenceSchema, 'A reference to an object in the same namespace.', {
    name: 'The name of the object.',
  }),
  describe(ObjectReferenceSchema, 'A reference to an object.', {
    kind: 'The kind of the object.',
    namespace: 'The namespace of the object.',
    name: 'The name of the object.',
    uid: 'The uid of the object.',
    apiVersion: 'The API group and version of the object.',
    resourceVersion: 'The resourceVersion of the object.',
    fieldPath: 'The part of the object that is referred to, such as spec.containers{web}.',
  }),
  describe(TypedLocalObjectReferenceSchema, 'A reference to an object in the same namespace.', {
    apiGroup: 'The API group of the kind. Empty for the core group.',
    name: 'The name of the object.',
  }),
  describe(TypedObjectReferenceSchema, 'A reference to an object.', {
    apiGroup: 'The API group of the kind. Empty for the core group.',
    name: 'The name of the object.',
    namespace: 'The namespace of the object. Default: that of the referring object.',
  }),
];
