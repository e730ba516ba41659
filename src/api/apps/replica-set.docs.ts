import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { conditionDocs } from '../core/condition.docs.ts';
import {
  ReplicaSetSpecSchema,
  ReplicaSetConditionSchema,
  ReplicaSetStatusSchema,
  ReplicaSetSchema,
} from './replica-set.ts';

export const docs: readonly TypeDocs[] = [
  describe(ReplicaSetSpecSchema, 'The desired state of a ReplicaSet.', {
    replicas: 'The desired number of pods. Default 1.',
    minReadySeconds: 'How long a new pod must be ready before it counts as available, in seconds. Default 0.',
    selector: 'Selects the pods. Must match the labels of the template. Cannot be changed.',
    template: 'The template of the pods.',
  }),
  describe(ReplicaSetConditionSchema, 'A condition of a ReplicaSet.', {
    ...conditionDocs,
  }),
  describe(ReplicaSetStatusSchema, 'The state of a ReplicaSet.', {
    replicas: 'The number of pods.',
    fullyLabeledReplicas: 'The number of pods with all labels of the template.',
    readyReplicas: 'The number of ready pods.',
    availableReplicas: 'The number of pods that have been ready for minReadySeconds.',
    terminatingReplicas: 'The number of pods that are being deleted.',
    observedGeneration: 'The `metadata.generation` that the controller saw when it wrote this status.',
    conditions: 'Conditions of the ReplicaSet: ReplicaFailure when pods cannot be created or deleted.',
  }),
  describe(ReplicaSetSchema, 'Keeps a number of identical pods running. Usually created by a Deployment.', {}),
];
