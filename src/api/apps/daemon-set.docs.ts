import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { conditionDocs } from '../core/condition.docs.ts';
import {
  RollingUpdateDaemonSetSchema,
  DaemonSetUpdateStrategySchema,
  DaemonSetSpecSchema,
  DaemonSetConditionSchema,
  DaemonSetStatusSchema,
  DaemonSetSchema,
} from './daemon-set.ts';

export const docs: readonly TypeDocs[] = [
  describe(
    RollingUpdateDaemonSetSchema,
    'The size of the steps of a rolling update, as numbers or percentages of the nodes.',
    {
      maxUnavailable:
        'How many nodes may have no available pod during the update, as a number or percentage. Default 1.',
      maxSurge:
        'How many nodes may run a new pod next to the old one during the update, as a number or percentage. Default 0.',
    },
  ),
  describe(DaemonSetUpdateStrategySchema, 'How old pods are replaced.', {
    type: 'RollingUpdate replaces pods node by node, OnDelete only when they are deleted. Default RollingUpdate.',
    rollingUpdate: 'The size of the steps, with RollingUpdate.',
  }),
  describe(DaemonSetSpecSchema, 'The desired state of a DaemonSet.', {
    selector: 'Selects the pods. Must match the labels of the template. Cannot be changed.',
    template: 'The template of the pods.',
    updateStrategy: 'How old pods are replaced.',
    minReadySeconds: 'How long a new pod must be ready before it counts as available, in seconds. Default 0.',
    revisionHistoryLimit: 'How many old revisions are kept. Default 10.',
  }),
  describe(DaemonSetConditionSchema, 'A condition of a DaemonSet.', {
    ...conditionDocs,
  }),
  describe(DaemonSetStatusSchema, 'The state of a DaemonSet.', {
    currentNumberScheduled: 'The number of nodes that run the pod and should.',
    numberMisscheduled: 'The number of nodes that run the pod and should not.',
    desiredNumberScheduled: 'The number of nodes that should run the pod.',
    numberReady: 'The number of nodes with a ready pod.',
    observedGeneration: 'The `metadata.generation` that the controller saw when it wrote this status.',
    updatedNumberScheduled: 'The number of nodes with a pod of the current template.',
    numberAvailable: 'The number of nodes whose pod has been ready for minReadySeconds.',
    numberUnavailable: 'The number of nodes that should run the pod and have no available one.',
    collisionCount: 'How often the name of a new ControllerRevision was already in use. Used to choose the next name.',
    conditions: 'Conditions of the DaemonSet.',
  }),
  describe(DaemonSetSchema, 'Runs one pod on every node that matches.', {}),
];
