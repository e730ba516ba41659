import type { CronJob } from '../batch/cron-job.ts';
import { defaultPodTemplate } from './default-apps.ts';
import { defaultFailurePolicy } from './default-job.ts';

/** A copy with the defaults that the API server sets. Its Jobs get their defaults when they are created. */
export function defaultCronJob(cronJob: CronJob): CronJob {
  const { spec } = cronJob;
  const job = spec.jobTemplate.spec;
  return {
    ...cronJob,
    spec: {
      ...spec,
      concurrencyPolicy: spec.concurrencyPolicy || 'Allow',
      suspend: spec.suspend ?? false,
      successfulJobsHistoryLimit: spec.successfulJobsHistoryLimit ?? 3,
      failedJobsHistoryLimit: spec.failedJobsHistoryLimit ?? 1,
      jobTemplate: {
        ...spec.jobTemplate,
        spec: {
          ...job,
          template: defaultPodTemplate(job.template),
          ...(job.podFailurePolicy !== undefined && { podFailurePolicy: defaultFailurePolicy(job.podFailurePolicy) }),
        },
      },
    },
  };
}
