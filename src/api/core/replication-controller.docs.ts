import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { conditionDocs } from './condition.docs.ts';
import {
  ReplicationControllerConditionSchema,
  ReplicationControllerSchema,
  ReplicationControllerSpecSchema,
  ReplicationControllerStatusSchema,
} from './replication-controller.ts';

export const docs: readonly TypeDocs[] = [
  describe(ReplicationControllerSpecSchema, 'The desired state of a ReplicationController.', {
    replicas: 'The desired number of pods. Default 1.',
    minReadySeconds: 'How long a new pod must be ready before it counts as available, in seconds. Default 0.',
    selector: 'Selects the pods by labels. Must match the labels of the template. Default: the labels of the template.',
    template: 'The template of the pods.',
  }),
  describe(ReplicationControllerConditionSchema, 'A condition of a ReplicationController.', {
    ...conditionDocs,
  }),
  describe(ReplicationControllerStatusSchema, 'The state of a ReplicationController.', {
    replicas: 'The number of pods.',
    fullyLabeledReplicas: 'The number of pods with all labels of the template.',
    readyReplicas: 'The number of ready pods.',
    availableReplicas: 'The number of pods that have been ready for minReadySeconds.',
    observedGeneration: 'The `metadata.generation` that the controller saw when it wrote this status.',
    conditions: 'Conditions of the ReplicationController: ReplicaFailure when pods cannot be created or deleted.',
  }),
  describe(
    ReplicationControllerSchema,
    'Keeps a number of identical pods running. ReplicaSets and Deployments are its successors.',
    {},
  ),
];
