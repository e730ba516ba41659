import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  NodeSelectorRequirementSchema,
  NodeSelectorTermSchema,
  NodeSelectorSchema,
  PreferredSchedulingTermSchema,
  NodeAffinitySchema,
  PodAffinityTermSchema,
  WeightedPodAffinityTermSchema,
  PodAffinitySchema,
  PodAntiAffinitySchema,
  AffinitySchema,
  TolerationSchema,
  TopologySpreadConstraintSchema,
} from './scheduling.ts';

export const docs: readonly TypeDocs[] = [
  describe(NodeSelectorRequirementSchema, 'A condition on one label or field.', {
    key: 'The key of the label.',
    operator: 'In, NotIn, Exists, DoesNotExist, Gt or Lt.',
    values: 'The values: any number for In and NotIn, one for Gt and Lt, none for Exists and DoesNotExist.',
  }),
  describe(NodeSelectorTermSchema, 'A set of conditions that must all be met.', {
    matchExpressions: 'Conditions on labels.',
    matchFields: 'Conditions on fields; only metadata.name is supported.',
  }),
  describe(NodeSelectorSchema, 'Selects nodes; one of the terms must match.', {
    nodeSelectorTerms: 'The terms.',
  }),
  describe(PreferredSchedulingTermSchema, 'A preference for nodes.', {
    weight: 'The weight of the preference, 1 to 100.',
    preference: 'The preferred nodes.',
  }),
  describe(NodeAffinitySchema, 'Rules about nodes for scheduling.', {
    requiredDuringSchedulingIgnoredDuringExecution:
      'Rules that must be met when the pod is scheduled. Running pods are not affected by later changes.',
    preferredDuringSchedulingIgnoredDuringExecution:
      'Rules that are preferred when the pod is scheduled, with weights.',
  }),
  describe(PodAffinityTermSchema, 'Selects pods, and the topology in which they are near.', {
    labelSelector: 'The labels of the pods.',
    namespaces: 'The namespaces of the pods. Default, without a namespaceSelector: that of this pod.',
    topologyKey: 'The node label whose equal values mean near, such as kubernetes.io/hostname.',
    namespaceSelector: 'The labels of the namespaces of the pods.',
    matchLabelKeys: 'Labels whose values must equal those of this pod.',
    mismatchLabelKeys: 'Labels whose values must differ from those of this pod.',
  }),
  describe(WeightedPodAffinityTermSchema, 'A preference for pods, with a weight.', {
    weight: 'The weight of the preference, 1 to 100.',
    podAffinityTerm: 'The pods.',
  }),
  describe(PodAffinitySchema, 'Rules for scheduling a pod near other pods.', {
    requiredDuringSchedulingIgnoredDuringExecution:
      'Rules that must be met when the pod is scheduled. Running pods are not affected by later changes.',
    preferredDuringSchedulingIgnoredDuringExecution:
      'Rules that are preferred when the pod is scheduled, with weights.',
  }),
  describe(PodAntiAffinitySchema, 'Rules for scheduling a pod away from other pods.', {
    requiredDuringSchedulingIgnoredDuringExecution:
      'Rules that must be met when the pod is scheduled. Running pods are not affected by later changes.',
    preferredDuringSchedulingIgnoredDuringExecution:
      'Rules that are preferred when the pod is scheduled, with weights.',
  }),
  describe(AffinitySchema, 'Rules about nodes and other pods for scheduling.', {
    nodeAffinity: 'Rules about nodes.',
    podAffinity: 'Rules for scheduling near other pods.',
    podAntiAffinity: 'Rules for scheduling away from other pods.',
  }),
  describe(TolerationSchema, 'Taints that a pod tolerates.', {
    key: 'The key of the taint. Empty, with operator Exists: all keys.',
    operator: 'Equal or Exists. Default Equal.',
    value: 'The value of the taint, for Equal.',
    effect: 'The effect of the taint. Empty: all effects.',
    tolerationSeconds: 'How long the pod tolerates a NoExecute taint, in seconds. Absent: without limit.',
  }),
  describe(TopologySpreadConstraintSchema, 'How evenly pods are spread over topology domains.', {
    maxSkew: 'The maximum difference of the number of pods between domains; at least 1.',
    topologyKey: 'The node label whose values define the domains.',
    whenUnsatisfiable: 'DoNotSchedule, or ScheduleAnyway, which only prefers a lower difference.',
    labelSelector: 'The labels of the counted pods.',
    minDomains: 'With fewer matching domains than this, the minimum count is treated as 0. Default 1.',
    nodeAffinityPolicy:
      'Whether only nodes count that match the node selector and affinity of the pod: Honor or Ignore. Default Honor.',
    nodeTaintsPolicy: 'Whether only nodes count whose taints the pod tolerates: Honor or Ignore. Default Ignore.',
    matchLabelKeys: 'Labels whose values in counted pods must equal those of this pod.',
  }),
];
