/** Field numbers of meta/v1: see `field-numbers.ts` for how to read them. */
export const metaNumbers = {
  Condition: 'type:1 status:2 observedGeneration:3 lastTransitionTime:4 reason:5 message:6',
  DeleteOptions:
    'gracePeriodSeconds:1? preconditions:2? orphanDependents:3? propagationPolicy:4? dryRun:5 ignoreStoreReadErrorWithClusterBreakingPotential:6?',
  FieldSelectorRequirement: 'key:1 operator:2 values:3',
  LabelSelector: 'matchLabels:1 matchExpressions:2',
  LabelSelectorRequirement: 'key:1 operator:2 values:3',
  ManagedFieldsEntry: 'manager:1 operation:2 apiVersion:3 time:4? fieldsType:6 fieldsV1:7? subresource:8',
  ObjectMeta: `
    name:1 generateName:2 namespace:3 selfLink:4 uid:5 resourceVersion:6 generation:7 creationTimestamp:8 deletionTimestamp:9?
    deletionGracePeriodSeconds:10? labels:11 annotations:12 ownerReferences:13 finalizers:14 managedFields:17
  `,
  OwnerReference: 'apiVersion:5 kind:1 name:3 uid:4 controller:6? blockOwnerDeletion:7?',
  Preconditions: 'uid:1? resourceVersion:2?',
} as const;
