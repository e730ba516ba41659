import type { Job, JobSpec, PodFailurePolicy } from '../batch/job.ts';
import { INT32_MAX } from '../validation/names.ts';
import { defaultPodTemplate } from './default-apps.ts';

/** A copy with the defaults that the API server sets (upstream: batch/v1/defaults.go). */
export function defaultJob(job: Job): Job {
  const { spec } = job;
  const labels = spec.template.metadata.labels;
  const inheritsLabels = labels !== undefined && Object.keys(job.metadata.labels ?? {}).length === 0;
  return { ...job, metadata: inheritsLabels ? { ...job.metadata, labels } : job.metadata, spec: defaultSpec(spec) };
}

function defaultSpec(spec: JobSpec): JobSpec {
  const alone = spec.completions === undefined && spec.parallelism === undefined;
  return {
    ...spec,
    ...(alone && { completions: 1 }),
    parallelism: spec.parallelism ?? 1,
    backoffLimit: spec.backoffLimit ?? (spec.backoffLimitPerIndex === undefined ? 6 : INT32_MAX),
    completionMode: spec.completionMode ?? 'NonIndexed',
    suspend: spec.suspend ?? false,
    podReplacementPolicy:
      spec.podReplacementPolicy ?? (spec.podFailurePolicy === undefined ? 'TerminatingOrFailed' : 'Failed'),
    manualSelector: spec.manualSelector ?? false,
    template: defaultPodTemplate(spec.template),
    ...(spec.podFailurePolicy !== undefined && { podFailurePolicy: defaultFailurePolicy(spec.podFailurePolicy) }),
  };
}

/** A pattern without a status means True. */
export function defaultFailurePolicy(policy: PodFailurePolicy): PodFailurePolicy {
  const rules = policy.rules.map((rule) =>
    rule.onPodConditions === undefined
      ? rule
      : {
          ...rule,
          onPodConditions: rule.onPodConditions.map((pattern) => ({
            ...pattern,
            status: (pattern.status as string) === '' ? ('True' as const) : pattern.status,
          })),
        },
  );
  return { ...policy, rules };
}
