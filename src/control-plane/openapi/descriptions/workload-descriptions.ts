import type { Descriptions } from './types.ts';

const selector = 'Which pods are its own. Cannot be changed; must choose what the template makes.';
const minReadySeconds = 'How long a new pod must be ready to count as available, in seconds.';
const observedGeneration = 'The `metadata.generation` that this status is about.';
const collisionCount = 'How often a name was taken, so that the next one is made otherwise.';

/** Kinds of apps, batch, policy and autoscaling. */
export const workloadDescriptions: Descriptions = {
  Deployment: { '': 'Keeps a number of equal pods running and replaces them step by step when their description changes.' },
  DeploymentSpec: {
    '': 'What a Deployment is to keep running.',
    replicas: 'How many pods. Default 1.', selector, template: 'What the pods are made from. A change of it is a new revision.', strategy: 'How old pods are replaced by new ones.', minReadySeconds,
    revisionHistoryLimit: 'How many old ReplicaSets stay for `rollout undo`. Default 10.', paused: 'Changes of the template wait.', progressDeadlineSeconds: 'When a rollout without progress is reported as failed, in seconds. Default 600.',
  },
  DeploymentStatus: {
    '': 'How a Deployment is.',
    observedGeneration, replicas: 'All its pods.', updatedReplicas: 'Those of the newest template.', readyReplicas: 'Those that are ready.', availableReplicas: 'Those that have been ready long enough.',
    unavailableReplicas: 'How many are missing to the number wanted.', terminatingReplicas: 'Those that are on their way out.', conditions: 'Available, Progressing and ReplicaFailure.', collisionCount,
  },
  DeploymentStrategy: { '': 'How old pods are replaced.', type: 'RollingUpdate (default): step by step. Recreate: all old ones first.', rollingUpdate: 'How large the steps are.' },
  RollingUpdateDeployment: {
    '': 'How large the steps of a rolling update are; numbers or percentages of the replicas.',
    maxUnavailable: 'So many pods may be missing meanwhile. Default 25%.', maxSurge: 'So many pods may be there beyond the number wanted. Default 25%.',
  },
  ReplicaSet: { '': 'Keeps a number of equal pods running. Deployments make these.' },
  ReplicaSetSpec: { '': 'What a ReplicaSet is to keep running.', replicas: 'How many pods. Default 1.', minReadySeconds, selector, template: 'What the pods are made from.' },
  ReplicaSetStatus: {
    '': 'How a ReplicaSet is.',
    replicas: 'All its pods.', fullyLabeledReplicas: 'Those with all labels of the template.', readyReplicas: 'Those that are ready.', availableReplicas: 'Those that have been ready long enough.',
    terminatingReplicas: 'Those that are on their way out.', observedGeneration, conditions: 'ReplicaFailure, when pods cannot be made or deleted.',
  },
  DaemonSet: { '': 'Keeps one pod running on every node that it fits.' },
  DaemonSetSpec: { '': 'What a DaemonSet is to keep running.', selector, template: 'What the pods are made from.', updateStrategy: 'How old pods are replaced by new ones.', minReadySeconds, revisionHistoryLimit: 'How many old revisions stay. Default 10.' },
  DaemonSetUpdateStrategy: { '': 'How old pods are replaced.', type: 'RollingUpdate (default) or OnDelete.', rollingUpdate: 'How large the steps are.' },
  RollingUpdateDaemonSet: { '': 'How large the steps of a rolling update are.', maxUnavailable: 'On so many nodes the pod may be missing meanwhile. Default 1.', maxSurge: 'On so many nodes a new pod may run beside the old one. Default 0.' },
  DaemonSetStatus: {
    '': 'How a DaemonSet is.',
    currentNumberScheduled: 'Nodes that have a pod and should.', numberMisscheduled: 'Nodes that have a pod and should not.', desiredNumberScheduled: 'Nodes that should have a pod.', numberReady: 'Nodes with a ready pod.',
    observedGeneration, updatedNumberScheduled: 'Nodes with a pod of the newest template.', numberAvailable: 'Nodes whose pod has been ready long enough.', numberUnavailable: 'Nodes that should have such a pod and do not.', conditions: 'What is known beyond the numbers.', collisionCount,
  },
  ControllerRevision: { '': 'An older state of something, kept for going back.', data: 'The state.', revision: 'Its number.' },
  Job: { '': 'Runs pods until enough of them have succeeded.' },
  JobSpec: {
    '': 'What a Job is to do.',
    parallelism: 'How many pods may run at a time. Default 1.', completions: 'How many must succeed.', activeDeadlineSeconds: 'How long the Job may take in all, in seconds.', backoffLimit: 'How many failures are borne. Default 6.',
    podFailurePolicy: 'What certain failures mean.', successPolicy: 'When the Job has succeeded before all pods have.', backoffLimitPerIndex: 'How many failures of one index are borne.', maxFailedIndexes: 'How many indexes may fail.',
    selector: 'Which pods are its own; made by the system.', manualSelector: 'The selector is written by hand.', template: 'What the pods are made from; restartPolicy must be Never or OnFailure.',
    ttlSecondsAfterFinished: 'How long the Job stays after its end, in seconds.', completionMode: 'NonIndexed (default), or Indexed: each pod has a number.', suspend: 'No pods run while this is true.',
    podReplacementPolicy: 'When a pod that ends is replaced.', managedBy: 'The controller that does the work.',
  },
  JobStatus: {
    '': 'How a Job is.',
    conditions: 'Complete, Failed, Suspended and the like.', startTime: 'When it began.', completionTime: 'When it succeeded.', active: 'Pods that run or wait.', succeeded: 'Pods that succeeded.', failed: 'Pods that failed.',
    terminating: 'Pods on their way out.', ready: 'Pods that are ready.', completedIndexes: 'The numbers that are done, such as 1,3-5.', failedIndexes: 'The numbers that failed.', uncountedTerminatedPods: 'Pods that ended and are not counted yet.',
  },
  Scale: { '': 'How many pods something is to have.' },
  ScaleSpec: { '': 'How many are wanted.', replicas: 'How many pods.' },
  ScaleStatus: { '': 'How many there are.', replicas: 'How many pods.', selector: 'Which pods they are, as text.' },
  PodDisruptionBudget: { '': 'How many pods of a group must stay when pods are evicted.' },
  PodDisruptionBudgetSpec: {
    '': 'How many must stay.',
    minAvailable: 'So many must be left, a number or a percentage.', maxUnavailable: 'So many may be missing, a number or a percentage. One of the two.', selector: 'Which pods are meant.',
    unhealthyPodEvictionPolicy: 'Whether pods that are not ready may always go.',
  },
  PodDisruptionBudgetStatus: {
    '': 'How much room there is.',
    observedGeneration, disruptedPods: 'Pods whose eviction was allowed and not seen yet.', disruptionsAllowed: 'How many may go now.', currentHealthy: 'How many are ready.', desiredHealthy: 'How many must be.', expectedPods: 'How many there should be.',
    conditions: 'DisruptionAllowed.',
  },
  Eviction: { '': 'Asks for a pod to go, as far as budgets allow it.', deleteOptions: 'How it is deleted.' },
};
