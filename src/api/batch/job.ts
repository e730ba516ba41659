/** Job of batch/v1. The fields follow k8s.io/api/batch/v1. */
import {
  array,
  boolean,
  field,
  filled,
  int32,
  int64,
  object,
  oneOf,
  pointer,
  required,
  set,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LabelSelectorSchema, ObjectMetaSchema } from '../core/meta.ts';
import { ConditionStatusSchema } from '../core/pod-status.ts';
import { PodTemplateSpecSchema } from '../core/pod-template.ts';

export const PodFailurePolicyOnExitCodesRequirementSchema = object('PodFailurePolicyOnExitCodesRequirement', {
  containerName: pointer(1, string),
  operator: required(2, oneOf('In', 'NotIn')),
  values: required(3, set(int32)),
});
export type PodFailurePolicyOnExitCodesRequirement = Infer<typeof PodFailurePolicyOnExitCodesRequirementSchema>;

export const PodFailurePolicyOnPodConditionsPatternSchema = object('PodFailurePolicyOnPodConditionsPattern', {
  type: required(1, string),
  status: filled(2, ConditionStatusSchema),
});
export type PodFailurePolicyOnPodConditionsPattern = Infer<typeof PodFailurePolicyOnPodConditionsPatternSchema>;

export const PodFailurePolicyRuleSchema = object('PodFailurePolicyRule', {
  action: required(1, oneOf('FailJob', 'FailIndex', 'Ignore', 'Count')),
  onExitCodes: field(2, PodFailurePolicyOnExitCodesRequirementSchema),
  onPodConditions: field(3, array(PodFailurePolicyOnPodConditionsPatternSchema)),
});
export type PodFailurePolicyRule = Infer<typeof PodFailurePolicyRuleSchema>;

export const PodFailurePolicySchema = object('PodFailurePolicy', {
  rules: required(1, array(PodFailurePolicyRuleSchema)),
});
export type PodFailurePolicy = Infer<typeof PodFailurePolicySchema>;

export const SuccessPolicyRuleSchema = object('SuccessPolicyRule', {
  succeededIndexes: pointer(1, string),
  succeededCount: pointer(2, int32),
});
export type SuccessPolicyRule = Infer<typeof SuccessPolicyRuleSchema>;

export const SuccessPolicySchema = object('SuccessPolicy', {
  rules: required(1, array(SuccessPolicyRuleSchema)),
});
export type SuccessPolicy = Infer<typeof SuccessPolicySchema>;

export const JobSpecSchema = object('JobSpec', {
  parallelism: pointer(1, int32),
  completions: pointer(2, int32),
  activeDeadlineSeconds: pointer(3, int64),
  podFailurePolicy: field(11, PodFailurePolicySchema),
  successPolicy: field(16, SuccessPolicySchema),
  backoffLimit: pointer(7, int32),
  backoffLimitPerIndex: pointer(12, int32),
  maxFailedIndexes: pointer(13, int32),
  selector: field(4, LabelSelectorSchema),
  manualSelector: pointer(5, boolean),
  template: required(6, PodTemplateSpecSchema),
  ttlSecondsAfterFinished: pointer(8, int32),
  completionMode: pointer(9, oneOf('NonIndexed', 'Indexed')),
  suspend: pointer(10, boolean),
  podReplacementPolicy: pointer(14, oneOf('TerminatingOrFailed', 'Failed')),
  managedBy: pointer(15, string),
});
export type JobSpec = Infer<typeof JobSpecSchema>;

export const JobConditionSchema = object('JobCondition', {
  /** `Suspended`, `Complete`, `Failed`, `FailureTarget`, `SuccessCriteriaMet`. */
  type: required(1, string),
  status: required(2, ConditionStatusSchema),
  lastProbeTime: field(3, time),
  lastTransitionTime: field(4, time),
  reason: field(5, string),
  message: field(6, string),
});
export type JobCondition = Infer<typeof JobConditionSchema>;

export const UncountedTerminatedPodsSchema = object('UncountedTerminatedPods', {
  succeeded: field(1, set(string)),
  failed: field(2, set(string)),
});
export type UncountedTerminatedPods = Infer<typeof UncountedTerminatedPodsSchema>;

export const JobStatusSchema = object('JobStatus', {
  conditions: field(1, array(JobConditionSchema, undefined, { listType: 'atomic', patch: { key: 'type' } })),
  startTime: field(2, time),
  completionTime: field(3, time),
  active: field(4, int32),
  succeeded: field(5, int32),
  failed: field(6, int32),
  terminating: pointer(11, int32),
  completedIndexes: field(7, string),
  failedIndexes: pointer(10, string),
  uncountedTerminatedPods: field(8, UncountedTerminatedPodsSchema),
  ready: pointer(9, int32),
});
export type JobStatus = Infer<typeof JobStatusSchema>;

export const JobSchema = object('Job', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, JobSpecSchema),
  status: field(3, JobStatusSchema),
});
export type Job = Infer<typeof JobSchema>;
