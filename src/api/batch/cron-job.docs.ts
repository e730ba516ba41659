import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { CronJobSchema, CronJobSpecSchema, CronJobStatusSchema, JobTemplateSpecSchema } from './cron-job.ts';

export const docs: readonly TypeDocs[] = [
  describe(JobTemplateSpecSchema, 'The template from which Jobs are created.', {
    metadata: 'Labels and annotations of the Jobs.',
    spec: 'The desired state of the Jobs.',
  }),
  describe(CronJobSpecSchema, 'The desired state of a CronJob.', {
    schedule:
      'When Jobs start: minute, hour, day of the month, month and day of the week, as cron writes them, or @hourly, @daily, @weekly, @monthly, @yearly or @every with a duration.',
    timeZone: 'The time zone of the schedule by its IANA name, such as Europe/Berlin. Absent: UTC.',
    startingDeadlineSeconds:
      'How late a Job may still start, in seconds. Later starts are skipped. Absent: any time late.',
    concurrencyPolicy:
      'Allow starts a Job while an earlier one runs, Forbid waits for it, Replace deletes it first. Default Allow.',
    suspend: 'Whether no further Jobs start. Running Jobs continue. Default false.',
    jobTemplate: 'The template of the Jobs.',
    successfulJobsHistoryLimit: 'How many Jobs that succeeded are kept. Default 3.',
    failedJobsHistoryLimit: 'How many Jobs that failed are kept. Default 1.',
  }),
  describe(CronJobStatusSchema, 'The state of a CronJob.', {
    active: 'The Jobs that run.',
    lastScheduleTime: 'The time in the schedule for which the last Job was started.',
    lastSuccessfulTime: 'When a Job last succeeded.',
  }),
  describe(CronJobSchema, 'Creates Jobs at the times of a schedule.', {}),
];
