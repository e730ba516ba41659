import type { CronJob } from '../../../api/batch/cron-job.ts';
import { CronJobSchema } from '../../../api/batch/cron-job.ts';
import { cronJobs } from '../../../api/client/resource-types.ts';
import { defaultCronJob } from '../../../api/defaults/default-cron-job.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { podTemplateWarnings } from '../../../api/validation/pod/pod-template.ts';
import { validateCronJob, validateCronJobUpdate } from '../../../api/validation/workloads/validate-cron-job.ts';
import { hostnameWarnings } from '../apps/template-columns.ts';
import { defineResource } from '../define-resource.ts';
import { ageColumn, formatAge, formatSelector, joinImages, joinNames } from '../print-cells.ts';

export const cronJobResource = defineResource<CronJob>({
  type: cronJobs,
  singular: 'cronjob',
  shortNames: ['cj'],
  categories: ['all'],
  schema: CronJobSchema,
  storagePath: 'cronjobs',
  rules: {
    applyDefaults: defaultCronJob,
    prepareForCreate: (cronJob) => ({ ...cronJob, status: {} }),
    validate: validateCronJob,
    validateName: checkDnsSubdomain,
    validateUpdate: validateCronJobUpdate,
    warnings: warningsOf,
  },
  hasStatus: true,
  countsGeneration: true,
  columns: [
    { name: 'Schedule', type: 'string', description: 'When Jobs start.', cell: ({ spec }) => spec.schedule },
    {
      name: 'Timezone',
      type: 'string',
      description: 'The time zone of the schedule.',
      cell: ({ spec }) => spec.timeZone ?? '<none>',
    },
    {
      name: 'Suspend',
      type: 'boolean',
      description: 'Whether no further Jobs start.',
      cell: ({ spec }) => (spec.suspend === true ? 'True' : 'False'),
    },
    {
      name: 'Active',
      type: 'integer',
      description: 'Jobs that run.',
      cell: ({ status }) => status?.active?.length ?? 0,
    },
    {
      name: 'Last Schedule',
      type: 'string',
      description: 'How long ago the last Job was due.',
      cell: ({ status }, nowMs) =>
        status?.lastScheduleTime === undefined ? '<none>' : formatAge(status.lastScheduleTime, nowMs),
    },
    ageColumn,
    {
      name: 'Containers',
      type: 'string',
      description: 'Names of the containers of each pod.',
      priority: 1,
      cell: ({ spec }) => joinNames(spec.jobTemplate.spec.template),
    },
    {
      name: 'Images',
      type: 'string',
      description: 'Images of the containers of each pod.',
      priority: 1,
      cell: ({ spec }) => joinImages(spec.jobTemplate.spec.template),
    },
    {
      name: 'Selector',
      type: 'string',
      description: 'Which pods belong to its Jobs.',
      priority: 1,
      cell: ({ spec }) => formatSelector(spec.jobTemplate.spec.selector),
    },
  ],
});

function warningsOf(cronJob: CronJob, old: CronJob | undefined): string[] {
  const isChanged = old === undefined || old.metadata.generation !== cronJob.metadata.generation;
  const { schedule, jobTemplate } = cronJob.spec;
  return [
    ...(old === undefined ? hostnameWarnings(cronJob) : []),
    ...(isChanged ? podTemplateWarnings('spec.jobTemplate.spec.template', jobTemplate.spec.template) : []),
    ...(old !== undefined && schedule.includes('TZ')
      ? [
          'cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details',
        ]
      : []),
  ];
}
