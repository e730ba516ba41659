import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { conditionDocs } from '../core/condition.docs.ts';
import {
  PodFailurePolicyOnExitCodesRequirementSchema,
  PodFailurePolicyOnPodConditionsPatternSchema,
  PodFailurePolicyRuleSchema,
  PodFailurePolicySchema,
  SuccessPolicyRuleSchema,
  SuccessPolicySchema,
  JobSpecSchema,
  JobConditionSchema,
  UncountedTerminatedPodsSchema,
  JobStatusSchema,
  JobSchema,
} from './job.ts';

export const docs: readonly TypeDocs[] = [
  describe(PodFailurePolicyOnExitCodesRequirementSchema, 'Matches failures by exit code.', {
    containerName: 'The container. Absent: all containers.',
    operator: 'In: the exit code must be one of the values. NotIn: it must not.',
    values: 'The exit codes.',
  }),
  describe(PodFailurePolicyOnPodConditionsPatternSchema, 'Matches failures by a condition of the pod.', {
    type: 'The type of the condition.',
    status: 'The status of the condition. Default True.',
  }),
  describe(PodFailurePolicyRuleSchema, 'How matching failures are treated.', {
    action: 'FailJob fails the Job, FailIndex the index, Ignore does not count the failure, Count counts it.',
    onExitCodes: 'Matches by exit code.',
    onPodConditions: 'Matches by condition; one must match.',
  }),
  describe(PodFailurePolicySchema, 'How failures of pods are treated.', {
    rules: 'The rules; the first that matches is applied.',
  }),
  describe(SuccessPolicyRuleSchema, 'A condition for the success of a Job.', {
    succeededIndexes: 'The indexes that must succeed, such as 1,3-5.',
    succeededCount: 'How many of the indexes must succeed.',
  }),
  describe(SuccessPolicySchema, 'When a Job succeeds before all its pods have.', {
    rules: 'The rules; one of them must hold.',
  }),
  describe(JobSpecSchema, 'The desired state of a Job.', {
    parallelism: 'How many pods may run at the same time. Default 1.',
    completions:
      'How many pods must succeed. Default 1 if parallelism is absent too; otherwise absent means that the success of any pod completes the Job.',
    activeDeadlineSeconds: 'How long the Job may run in all, in seconds, before it fails.',
    podFailurePolicy: 'How failures of pods are treated, by exit code or condition.',
    successPolicy: 'When the Job succeeds before all its pods have. Needs completionMode Indexed.',
    backoffLimit: 'How many pods may fail before the Job fails. Default 6; no limit if backoffLimitPerIndex is set.',
    backoffLimitPerIndex: 'How many pods of one index may fail before the index fails. Needs completionMode Indexed.',
    maxFailedIndexes: 'How many indexes may fail before the Job fails. Needs backoffLimitPerIndex.',
    selector: 'Selects the pods. Set by the system unless manualSelector is true.',
    manualSelector: 'The selector and the labels of the template are set by the user. Default false.',
    template: 'The template of the pods. restartPolicy must be Never or OnFailure.',
    ttlSecondsAfterFinished: 'How long the finished Job is kept, in seconds. Absent: until it is deleted.',
    completionMode: 'NonIndexed, or Indexed: each pod has a number from 0 to completions - 1. Default NonIndexed.',
    suspend: 'While it is true, no pods run. Default false.',
    podReplacementPolicy:
      'When a pod is replaced: as soon as it is terminating or failed, or only when it has failed. Default TerminatingOrFailed; Failed with podFailurePolicy.',
    managedBy: 'The controller that manages the Job. Absent: the built-in one. Cannot be changed.',
  }),
  describe(JobConditionSchema, 'A condition of a Job.', {
    ...conditionDocs,
  }),
  describe(UncountedTerminatedPodsSchema, 'Ended pods that the job controller has not counted yet.', {
    succeeded: 'The uids of pods that succeeded.',
    failed: 'The uids of pods that failed.',
  }),
  describe(JobStatusSchema, 'The state of a Job.', {
    conditions: 'Conditions of the Job: Complete, Failed, Suspended, SuccessCriteriaMet and FailureTarget.',
    startTime: 'When the Job started.',
    completionTime: 'When the Job succeeded.',
    active: 'The number of pods that are pending or running.',
    succeeded: 'The number of pods that succeeded.',
    failed: 'The number of pods that failed.',
    terminating: 'The number of pods that are being deleted.',
    completedIndexes: 'The indexes that succeeded, such as 1,3-5.',
    failedIndexes: 'The indexes that failed, such as 1,3-5.',
    uncountedTerminatedPods: 'Finished pods that are not counted yet.',
    ready: 'The number of pods that are ready.',
  }),
  describe(JobSchema, 'Runs pods until enough of them have succeeded.', {}),
];
