/** Where a pod may run: affinity, tolerations, spreading. Which fields exist follows k8s.io/api/core/v1. */
import { array, atomic, int32, int64, object, oneOf, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LabelSelectorSchema } from './meta.ts';

export const NodeSelectorOperatorSchema = oneOf('In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt');
export type NodeSelectorOperator = Infer<typeof NodeSelectorOperatorSchema>;

export const NodeSelectorRequirementSchema = object('NodeSelectorRequirement', {
  key: required(string),
  operator: required(NodeSelectorOperatorSchema),
  values: array(string),
});
export type NodeSelectorRequirement = Infer<typeof NodeSelectorRequirementSchema>;

export const NodeSelectorTermSchema = atomic(
  object('NodeSelectorTerm', {
    matchExpressions: array(NodeSelectorRequirementSchema),
    matchFields: array(NodeSelectorRequirementSchema),
  }),
);
export type NodeSelectorTerm = Infer<typeof NodeSelectorTermSchema>;

export const NodeSelectorSchema = atomic(
  object('NodeSelector', { nodeSelectorTerms: required(array(NodeSelectorTermSchema)) }),
);
export type NodeSelector = Infer<typeof NodeSelectorSchema>;

export const PreferredSchedulingTermSchema = object('PreferredSchedulingTerm', {
  weight: required(int32),
  preference: required(NodeSelectorTermSchema),
});
export type PreferredSchedulingTerm = Infer<typeof PreferredSchedulingTermSchema>;

export const NodeAffinitySchema = object('NodeAffinity', {
  requiredDuringSchedulingIgnoredDuringExecution: NodeSelectorSchema,
  preferredDuringSchedulingIgnoredDuringExecution: array(PreferredSchedulingTermSchema),
});
export type NodeAffinity = Infer<typeof NodeAffinitySchema>;

export const PodAffinityTermSchema = object('PodAffinityTerm', {
  labelSelector: LabelSelectorSchema,
  namespaces: array(string),
  topologyKey: required(string),
  namespaceSelector: LabelSelectorSchema,
  matchLabelKeys: array(string),
  mismatchLabelKeys: array(string),
});
export type PodAffinityTerm = Infer<typeof PodAffinityTermSchema>;

export const WeightedPodAffinityTermSchema = object('WeightedPodAffinityTerm', {
  weight: required(int32),
  podAffinityTerm: required(PodAffinityTermSchema),
});
export type WeightedPodAffinityTerm = Infer<typeof WeightedPodAffinityTermSchema>;

export const PodAffinitySchema = object('PodAffinity', {
  requiredDuringSchedulingIgnoredDuringExecution: array(PodAffinityTermSchema),
  preferredDuringSchedulingIgnoredDuringExecution: array(WeightedPodAffinityTermSchema),
});
export type PodAffinity = Infer<typeof PodAffinitySchema>;

export const PodAntiAffinitySchema = object('PodAntiAffinity', {
  requiredDuringSchedulingIgnoredDuringExecution: array(PodAffinityTermSchema),
  preferredDuringSchedulingIgnoredDuringExecution: array(WeightedPodAffinityTermSchema),
});
export type PodAntiAffinity = Infer<typeof PodAntiAffinitySchema>;

export const AffinitySchema = object('Affinity', {
  nodeAffinity: NodeAffinitySchema,
  podAffinity: PodAffinitySchema,
  podAntiAffinity: PodAntiAffinitySchema,
});
export type Affinity = Infer<typeof AffinitySchema>;

export const TolerationOperatorSchema = oneOf('Exists', 'Equal', 'Lt', 'Gt');
export type TolerationOperator = Infer<typeof TolerationOperatorSchema>;

export const TaintEffectSchema = oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute');
export type TaintEffect = Infer<typeof TaintEffectSchema>;

export const TolerationSchema = object('Toleration', {
  key: string,
  operator: TolerationOperatorSchema,
  value: string,
  effect: TaintEffectSchema,
  tolerationSeconds: int64,
});
export type Toleration = Infer<typeof TolerationSchema>;

export const UnsatisfiableConstraintActionSchema = oneOf('DoNotSchedule', 'ScheduleAnyway');
export type UnsatisfiableConstraintAction = Infer<typeof UnsatisfiableConstraintActionSchema>;

export const NodeInclusionPolicySchema = oneOf('Ignore', 'Honor');
export type NodeInclusionPolicy = Infer<typeof NodeInclusionPolicySchema>;

export const TopologySpreadConstraintSchema = object('TopologySpreadConstraint', {
  maxSkew: required(int32),
  topologyKey: required(string),
  whenUnsatisfiable: required(UnsatisfiableConstraintActionSchema),
  labelSelector: LabelSelectorSchema,
  minDomains: int32,
  nodeAffinityPolicy: NodeInclusionPolicySchema,
  nodeTaintsPolicy: NodeInclusionPolicySchema,
  matchLabelKeys: array(string),
});
export type TopologySpreadConstraint = Infer<typeof TopologySpreadConstraintSchema>;
