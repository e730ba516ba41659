/** Job of batch/v1. Which fields exist follows k8s.io/api/batch/v1. */
import { array, boolean, int32, int64, object, oneOf, required, set, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LabelSelectorSchema, ListMetaSchema, ObjectMetaSchema } from '../core/meta.ts';
import { ConditionStatusSchema } from '../core/pod-status.ts';
import { PodTemplateSpecSchema } from '../core/pod-template.ts';

export const PodFailurePolicyOnExitCodesRequirementSchema = object('PodFailurePolicyOnExitCodesRequirement', {
  containerName: string,
  operator: required(oneOf('In', 'NotIn')),
  values: required(set(int32)),
});
export type PodFailurePolicyOnExitCodesRequirement = Infer<typeof PodFailurePolicyOnExitCodesRequirementSchema>;

export const PodFailurePolicyOnPodConditionsPatternSchema = object('PodFailurePolicyOnPodConditionsPattern', {
  type: required(string),
  status: required(ConditionStatusSchema),
});
export type PodFailurePolicyOnPodConditionsPattern = Infer<typeof PodFailurePolicyOnPodConditionsPatternSchema>;

export const PodFailurePolicyRuleSchema = object('PodFailurePolicyRule', {
  action: required(oneOf('FailJob', 'FailIndex', 'Ignore', 'Count')),
  onExitCodes: PodFailurePolicyOnExitCodesRequirementSchema,
  onPodConditions: array(PodFailurePolicyOnPodConditionsPatternSchema),
});
export type PodFailurePolicyRule = Infer<typeof PodFailurePolicyRuleSchema>;

export const PodFailurePolicySchema = object('PodFailurePolicy', {
  rules: required(array(PodFailurePolicyRuleSchema)),
});
export type PodFailurePolicy = Infer<typeof PodFailurePolicySchema>;

export const SuccessPolicyRuleSchema = object('SuccessPolicyRule', {
  succeededIndexes: string,
  succeededCount: int32,
});
export type SuccessPolicyRule = Infer<typeof SuccessPolicyRuleSchema>;

export const SuccessPolicySchema = object('SuccessPolicy', {
  rules: required(array(SuccessPolicyRuleSchema)),
});
export type SuccessPolicy = Infer<typeof SuccessPolicySchema>;

export const JobSpecSchema = object('JobSpec', {
  parallelism: int32,
  completions: int32,
  activeDeadlineSeconds: int64,
  podFailurePolicy: PodFailurePolicySchema,
  successPolicy: SuccessPolicySchema,
  backoffLimit: int32,
  backoffLimitPerIndex: int32,
  maxFailedIndexes: int32,
  selector: LabelSelectorSchema,
  manualSelector: boolean,
  template: required(PodTemplateSpecSchema),
  ttlSecondsAfterFinished: int32,
  completionMode: oneOf('NonIndexed', 'Indexed'),
  suspend: boolean,
  podReplacementPolicy: oneOf('TerminatingOrFailed', 'Failed'),
  managedBy: string,
});
export type JobSpec = Infer<typeof JobSpecSchema>;

export const JobConditionSchema = object('JobCondition', {
  /** `Suspended`, `Complete`, `Failed`, `FailureTarget`, `SuccessCriteriaMet`. */
  type: required(string),
  status: required(ConditionStatusSchema),
  lastProbeTime: time,
  lastTransitionTime: time,
  reason: string,
  message: string,
});
export type JobCondition = Infer<typeof JobConditionSchema>;

export const UncountedTerminatedPodsSchema = object('UncountedTerminatedPods', {
  succeeded: set(string),
  failed: set(string),
});
export type UncountedTerminatedPods = Infer<typeof UncountedTerminatedPodsSchema>;

export const JobStatusSchema = object('JobStatus', {
  conditions: array(JobConditionSchema, undefined, { listType: 'atomic', patch: { key: 'type' } }),
  startTime: time,
  completionTime: time,
  active: int32,
  succeeded: int32,
  failed: int32,
  terminating: int32,
  completedIndexes: string,
  failedIndexes: string,
  uncountedTerminatedPods: UncountedTerminatedPodsSchema,
  ready: int32,
});
export type JobStatus = Infer<typeof JobStatusSchema>;

export const JobSchema = object('Job', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(JobSpecSchema),
  status: JobStatusSchema,
});
export type Job = Infer<typeof JobSchema>;

export const JobListSchema = object('JobList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(JobSchema)),
});
export type JobList = Infer<typeof JobListSchema>;
