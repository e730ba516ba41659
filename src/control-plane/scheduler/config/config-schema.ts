/** The schema of KubeSchedulerConfiguration (kubescheduler.config.k8s.io/v1) and of its plugin arguments. */
import { NodeAffinitySchema, TopologySpreadConstraintSchema } from '../../../api/core/scheduling.ts';
import {
  array,
  boolean,
  double,
  duration,
  int32,
  smallInt64,
  object,
  opaque,
  required,
  string,
} from '../../../api/schema/schema.ts';
import { ExtenderSchema } from '../extenders/extender-config.ts';
import type { Infer } from '../../../api/schema/schema.ts';

const PluginReferenceSchema = object('Plugin', { name: required(string), weight: int32 });
const PluginSetSchema = object('PluginSet', {
  enabled: array(PluginReferenceSchema),
  disabled: array(PluginReferenceSchema),
});
export type PluginSetSource = Infer<typeof PluginSetSchema>;

const PluginsSchema = object('Plugins', {
  preEnqueue: PluginSetSchema,
  queueSort: PluginSetSchema,
  preFilter: PluginSetSchema,
  filter: PluginSetSchema,
  postFilter: PluginSetSchema,
  preScore: PluginSetSchema,
  score: PluginSetSchema,
  reserve: PluginSetSchema,
  permit: PluginSetSchema,
  preBind: PluginSetSchema,
  bind: PluginSetSchema,
  postBind: PluginSetSchema,
  multiPoint: PluginSetSchema,
});
export type PluginsSource = Infer<typeof PluginsSchema>;
export type ExtensionPoint = Exclude<keyof PluginsSource, 'multiPoint'>;

const ProfileSchema = object('KubeSchedulerProfile', {
  schedulerName: string,
  percentageOfNodesToScore: int32,
  plugins: PluginsSchema,
  pluginConfig: array(object('PluginConfig', { name: required(string), args: opaque })),
});
export type ProfileSource = Infer<typeof ProfileSchema>;

export const SchedulerConfigurationSchema = object('KubeSchedulerConfiguration', {
  apiVersion: string,
  kind: string,
  parallelism: int32,
  leaderElection: object('LeaderElectionConfiguration', {
    leaderElect: boolean,
    leaseDuration: duration,
    renewDeadline: duration,
    retryPeriod: duration,
    resourceLock: string,
    resourceName: string,
    resourceNamespace: string,
  }),
  clientConnection: object('ClientConnectionConfiguration', {
    kubeconfig: string,
    acceptContentTypes: string,
    contentType: string,
    qps: double,
    burst: int32,
  }),
  enableProfiling: boolean,
  enableContentionProfiling: boolean,
  percentageOfNodesToScore: int32,
  podInitialBackoffSeconds: smallInt64,
  podMaxBackoffSeconds: smallInt64,
  profiles: array(ProfileSchema),
  extenders: array(ExtenderSchema),
  delayCacheUntilActive: boolean,
});
export type SchedulerConfigurationSource = Infer<typeof SchedulerConfigurationSchema>;

const typeMeta = { apiVersion: string, kind: string } as const;
const ResourceSpecSchema = object('ResourceSpec', { name: required(string), weight: smallInt64 });
const ShapePointSchema = object('UtilizationShapePoint', { utilization: required(int32), score: required(int32) });

/** The argument schemas by plugin. Plugins that are not listed take no arguments. */
export const argsSchemas = {
  DefaultPreemption: object('DefaultPreemptionArgs', {
    ...typeMeta,
    minCandidateNodesPercentage: int32,
    minCandidateNodesAbsolute: int32,
  }),
  DynamicResources: object('DynamicResourcesArgs', {
    ...typeMeta,
    filterTimeout: duration,
    bindingTimeout: duration,
  }),
  InterPodAffinity: object('InterPodAffinityArgs', {
    ...typeMeta,
    hardPodAffinityWeight: int32,
    ignorePreferredTermsOfExistingPods: boolean,
  }),
  NodeAffinity: object('NodeAffinityArgs', { ...typeMeta, addedAffinity: NodeAffinitySchema }),
  NodeResourcesBalancedAllocation: object('NodeResourcesBalancedAllocationArgs', {
    ...typeMeta,
    resources: array(ResourceSpecSchema),
  }),
  NodeResourcesFit: object('NodeResourcesFitArgs', {
    ...typeMeta,
    ignoredResources: array(string),
    ignoredResourceGroups: array(string),
    scoringStrategy: object('ScoringStrategy', {
      type: string,
      resources: array(ResourceSpecSchema),
      requestedToCapacityRatio: object('RequestedToCapacityRatioParam', { shape: array(ShapePointSchema) }),
    }),
  }),
  PodTopologySpread: object('PodTopologySpreadArgs', {
    ...typeMeta,
    defaultConstraints: array(TopologySpreadConstraintSchema),
    defaultingType: string,
  }),
  VolumeBinding: object('VolumeBindingArgs', {
    ...typeMeta,
    bindTimeoutSeconds: smallInt64,
    shape: array(ShapePointSchema),
  }),
} as const;
export type PluginWithArgs = keyof typeof argsSchemas;
export type ArgsSource<Name extends PluginWithArgs> = Infer<(typeof argsSchemas)[Name]>;
