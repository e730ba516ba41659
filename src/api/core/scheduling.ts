/** Where a pod may run: affinity, tolerations, spreading. The fields follow k8s.io/api/core/v1. */
import { array, atomic, field, int32, int64, object, oneOf, pointer, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LabelSelectorSchema } from './meta.ts';

const NodeSelectorOperatorSchema = oneOf('In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt');
export type NodeSelectorOperator = Infer<typeof NodeSelectorOperatorSchema>;

export const NodeSelectorRequirementSchema = object('NodeSelectorRequirement', {
  key: required(1, string),
  operator: required(2, NodeSelectorOperatorSchema),
  values: field(3, array(string)),
});
export type NodeSelectorRequirement = Infer<typeof NodeSelectorRequirementSchema>;

export const NodeSelectorTermSchema = atomic(
  object('NodeSelectorTerm', {
    matchExpressions: field(1, array(NodeSelectorRequirementSchema)),
    matchFields: field(2, array(NodeSelectorRequirementSchema)),
  }),
);
export type NodeSelectorTerm = Infer<typeof NodeSelectorTermSchema>;

export const NodeSelectorSchema = atomic(
  object('NodeSelector', { nodeSelectorTerms: required(1, array(NodeSelectorTermSchema)) }),
);
export type NodeSelector = Infer<typeof NodeSelectorSchema>;

export const PreferredSchedulingTermSchema = object('PreferredSchedulingTerm', {
  weight: required(1, int32),
  preference: required(2, NodeSelectorTermSchema),
});
export type PreferredSchedulingTerm = Infer<typeof PreferredSchedulingTermSchema>;

export const NodeAffinitySchema = object('NodeAffinity', {
  requiredDuringSchedulingIgnoredDuringExecution: field(1, NodeSelectorSchema),
  preferredDuringSchedulingIgnoredDuringExecution: field(2, array(PreferredSchedulingTermSchema)),
});
export type NodeAffinity = Infer<typeof NodeAffinitySchema>;

export const PodAffinityTermSchema = object('PodAffinityTerm', {
  labelSelector: field(1, LabelSelectorSchema),
  namespaces: field(2, array(string)),
  topologyKey: required(3, string),
  namespaceSelector: field(4, LabelSelectorSchema),
  matchLabelKeys: field(5, array(string)),
  mismatchLabelKeys: field(6, array(string)),
});
export type PodAffinityTerm = Infer<typeof PodAffinityTermSchema>;

export const WeightedPodAffinityTermSchema = object('WeightedPodAffinityTerm', {
  weight: required(1, int32),
  podAffinityTerm: required(2, PodAffinityTermSchema),
});
export type WeightedPodAffinityTerm = Infer<typeof WeightedPodAffinityTermSchema>;

export const PodAffinitySchema = object('PodAffinity', {
  requiredDuringSchedulingIgnoredDuringExecution: field(1, array(PodAffinityTermSchema)),
  preferredDuringSchedulingIgnoredDuringExecution: field(2, array(WeightedPodAffinityTermSchema)),
});
export type PodAffinity = Infer<typeof PodAffinitySchema>;

export const PodAntiAffinitySchema = object('PodAntiAffinity', {
  requiredDuringSchedulingIgnoredDuringExecution: field(1, array(PodAffinityTermSchema)),
  preferredDuringSchedulingIgnoredDuringExecution: field(2, array(WeightedPodAffinityTermSchema)),
});
export type PodAntiAffinity = Infer<typeof PodAntiAffinitySchema>;

export const AffinitySchema = object('Affinity', {
  nodeAffinity: field(1, NodeAffinitySchema),
  podAffinity: field(2, PodAffinitySchema),
  podAntiAffinity: field(3, PodAntiAffinitySchema),
});
export type Affinity = Infer<typeof AffinitySchema>;

const TolerationOperatorSchema = oneOf('Exists', 'Equal', 'Lt', 'Gt');
export type TolerationOperator = Infer<typeof TolerationOperatorSchema>;

export const TaintEffectSchema = oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute');
export type TaintEffect = Infer<typeof TaintEffectSchema>;

export const TolerationSchema = object('Toleration', {
  key: field(1, string),
  operator: field(2, TolerationOperatorSchema),
  value: field(3, string),
  effect: field(4, TaintEffectSchema),
  tolerationSeconds: pointer(5, int64),
});
export type Toleration = Infer<typeof TolerationSchema>;

const UnsatisfiableConstraintActionSchema = oneOf('DoNotSchedule', 'ScheduleAnyway');
export type UnsatisfiableConstraintAction = Infer<typeof UnsatisfiableConstraintActionSchema>;

const NodeInclusionPolicySchema = oneOf('Ignore', 'Honor');
export type NodeInclusionPolicy = Infer<typeof NodeInclusionPolicySchema>;

export const TopologySpreadConstraintSchema = object('TopologySpreadConstraint', {
  maxSkew: required(1, int32),
  topologyKey: required(2, string),
  whenUnsatisfiable: required(3, UnsatisfiableConstraintActionSchema),
  labelSelector: field(4, LabelSelectorSchema),
  minDomains: pointer(5, int32),
  nodeAffinityPolicy: pointer(6, NodeInclusionPolicySchema),
  nodeTaintsPolicy: pointer(7, NodeInclusionPolicySchema),
  matchLabelKeys: field(8, array(string)),
});
export type TopologySpreadConstraint = Infer<typeof TopologySpreadConstraintSchema>;
