import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { conditionDocs } from '../core/condition.docs.ts';
import {
  RollingUpdateStatefulSetStrategySchema,
  StatefulSetConditionSchema,
  StatefulSetOrdinalsSchema,
  StatefulSetPersistentVolumeClaimRetentionPolicySchema,
  StatefulSetSchema,
  StatefulSetSpecSchema,
  StatefulSetStatusSchema,
  StatefulSetUpdateStrategySchema,
} from './stateful-set.ts';

export const docs: readonly TypeDocs[] = [
  describe(RollingUpdateStatefulSetStrategySchema, 'The extent of a rolling update.', {
    partition:
      'Pods with a lower ordinal keep the current revision; all others get the new one. Default 0: all pods are updated.',
    maxUnavailable:
      'How many pods may be unavailable during the update, as a number or percentage of the replicas, rounded down, at least 1. Absent: pods are updated one at a time.',
  }),
  describe(StatefulSetUpdateStrategySchema, 'How pods of an old revision are replaced.', {
    type: 'RollingUpdate replaces pods from the highest ordinal down, OnDelete only when they are deleted. Default RollingUpdate.',
    rollingUpdate: 'The extent of the update, with RollingUpdate.',
  }),
  describe(
    StatefulSetPersistentVolumeClaimRetentionPolicySchema,
    'What happens to claims that were created from volumeClaimTemplates.',
    {
      whenDeleted: 'Retain keeps the claims when the StatefulSet is deleted, Delete deletes them. Default Retain.',
      whenScaled:
        'Retain keeps the claims of pods that are removed by scaling down, Delete deletes them with the pod. Default Retain.',
    },
  ),
  describe(StatefulSetOrdinalsSchema, 'How pods are numbered.', {
    start: 'The ordinal of the first pod. Default 0.',
  }),
  describe(StatefulSetSpecSchema, 'The desired state of a StatefulSet.', {
    replicas: 'The number of pods. Default 1.',
    selector: 'Selects the pods. Must match the labels of the template. Cannot be changed.',
    template:
      'The template of the pods. Each pod is called after the StatefulSet and its ordinal, and keeps that name when it is replaced.',
    volumeClaimTemplates:
      'Templates of claims. Each pod gets its own claim, named TEMPLATE-STATEFULSET-ORDINAL. Cannot be changed.',
    serviceName: 'The headless Service under which the pods have their DNS names. Cannot be changed.',
    podManagementPolicy:
      'OrderedReady makes and deletes pods one after the other, each when its predecessors are ready; Parallel does so at once. Default OrderedReady. Cannot be changed.',
    updateStrategy: 'How pods of an old revision are replaced.',
    revisionHistoryLimit: 'How many old revisions are kept. Default 10.',
    minReadySeconds: 'How long a new pod must be ready before it counts as available, in seconds. Default 0.',
    persistentVolumeClaimRetentionPolicy: 'What happens to claims that were created from volumeClaimTemplates.',
    ordinals: 'How pods are numbered. Absent: from 0.',
  }),
  describe(StatefulSetConditionSchema, 'A condition of a StatefulSet.', {
    ...conditionDocs,
  }),
  describe(StatefulSetStatusSchema, 'The state of a StatefulSet.', {
    observedGeneration: 'The `metadata.generation` that the controller saw when it wrote this status.',
    replicas: 'The number of pods.',
    readyReplicas: 'The number of ready pods.',
    currentReplicas: 'The number of pods of currentRevision.',
    updatedReplicas: 'The number of pods of updateRevision.',
    currentRevision: 'The ControllerRevision of the pods that are not updated yet.',
    updateRevision: 'The ControllerRevision of the template as it is.',
    collisionCount: 'How often the name of a new ControllerRevision was already in use. Used to choose the next name.',
    conditions: 'Conditions of the StatefulSet.',
    availableReplicas: 'The number of pods that have been ready for minReadySeconds.',
  }),
  describe(StatefulSetSchema, 'Runs pods with stable names and storage of their own.', {}),
];
