/** Field numbers of apps, v1: see `field-numbers.ts` for how to read them. */
export const appsNumbers = {
  ControllerRevision: 'metadata:1 data:2 revision:3',
  DaemonSet: 'metadata:1 spec:2 status:3',
  DaemonSetCondition: 'type:1 status:2 lastTransitionTime:3 reason:4 message:5',
  DaemonSetSpec: 'selector:1? template:2 updateStrategy:3 minReadySeconds:4 revisionHistoryLimit:6?',
  DaemonSetStatus: `
    currentNumberScheduled:1 numberMisscheduled:2 desiredNumberScheduled:3 numberReady:4 observedGeneration:5 updatedNumberScheduled:6 numberAvailable:7
    numberUnavailable:8 collisionCount:9? conditions:10
  `,
  DaemonSetUpdateStrategy: 'type:1 rollingUpdate:2?',
  Deployment: 'metadata:1 spec:2 status:3',
  DeploymentCondition: 'type:1 status:2 lastUpdateTime:6 lastTransitionTime:7 reason:4 message:5',
  DeploymentSpec:
    'replicas:1? selector:2? template:3 strategy:4 minReadySeconds:5 revisionHistoryLimit:6? paused:7 progressDeadlineSeconds:9?',
  DeploymentStatus: `
    observedGeneration:1 replicas:2 updatedReplicas:3 readyReplicas:7 availableReplicas:4 unavailableReplicas:5 terminatingReplicas:9? conditions:6
    collisionCount:8?
  `,
  DeploymentStrategy: 'type:1 rollingUpdate:2?',
  ReplicaSet: 'metadata:1 spec:2 status:3',
  ReplicaSetCondition: 'type:1 status:2 lastTransitionTime:3 reason:4 message:5',
  ReplicaSetSpec: 'replicas:1? minReadySeconds:4 selector:2? template:3',
  ReplicaSetStatus:
    'replicas:1 fullyLabeledReplicas:2 readyReplicas:4 availableReplicas:5 terminatingReplicas:7? observedGeneration:3 conditions:6',
  RollingUpdateDaemonSet: 'maxUnavailable:1? maxSurge:2?',
  RollingUpdateDeployment: 'maxUnavailable:1? maxSurge:2?',
} as const;
