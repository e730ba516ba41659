import { jobLabels } from '../../../api/batch/job-labels.ts';
import type { Job } from '../../../api/batch/job.ts';
import { JobSchema } from '../../../api/batch/job.ts';
import { jobs } from '../../../api/client/resource-types.ts';
import { defaultJob } from '../../../api/defaults/default-job.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { podTemplateWarnings } from '../../../api/validation/pod/pod-template.ts';
import { validateJobStatus } from '../../../api/validation/workloads/validate-job-status.ts';
import { validateJob, validateJobUpdate } from '../../../api/validation/workloads/validate-job.ts';
import { hostnameWarnings, templateColumns } from '../apps/template-columns.ts';
import { defineResource } from '../define-resource.ts';
import { ageColumn, humanDuration } from '../print-cells.ts';

const MANY_COMPLETIONS = 100_000;

const MUCH_PARALLELISM = 10_000;

/** Sets the selector. Pods of a job are identified by the job's UID. With a manual selector the user is responsible. */
function withSelector(job: Job): Job {
  const { metadata, spec } = job;
  if (spec.manualSelector === true) return job;
  // Upstream's defaults let both share one map, so a job without labels of its own also gets the generated ones.
  const inherits = Object.keys(metadata.labels ?? {}).length === 0 || metadata.labels === spec.template.metadata.labels;
  const { name, uid } = metadata;
  const generated = {
    [jobLabels.oldJobName]: name,
    [jobLabels.jobName]: name,
    [jobLabels.oldControllerUid]: uid,
    [jobLabels.controllerUid]: uid,
  };
  const template = {
    ...spec.template,
    metadata: { ...spec.template.metadata, labels: { ...generated, ...spec.template.metadata.labels } },
  };
  return {
    ...job,
    ...(inherits && { metadata: { ...metadata, labels: template.metadata.labels } }),
    spec: {
      ...spec,
      selector: { ...spec.selector, matchLabels: { [jobLabels.controllerUid]: uid, ...spec.selector?.matchLabels } },
      template,
    },
  };
}

function warnings(job: Job, old: Job | undefined): string[] {
  if (old !== undefined && old.metadata.generation === job.metadata.generation) return [];
  const { completionMode, completions = 0, parallelism = 0, template } = job.spec;
  const found = old === undefined ? hostnameWarnings(job) : [];
  if (completionMode === 'Indexed' && completions > MANY_COMPLETIONS && parallelism > MUCH_PARALLELISM) {
    found.push(
      'spec: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail',
    );
  }
  return [...found, ...podTemplateWarnings('spec.template', template)];
}

function statusText({ metadata, status }: Job): string {
  const holds = (wanted: string): boolean =>
    (status?.conditions ?? []).some((condition) => condition.type === wanted && condition.status === 'True');
  if (holds('Complete')) return 'Complete';
  if (holds('Failed')) return 'Failed';
  if (metadata.deletionTimestamp !== undefined) return 'Terminating';
  return ['Suspended', 'FailureTarget', 'SuccessCriteriaMet'].find(holds) ?? 'Running';
}

function completionsText({ spec, status }: Job): string {
  const succeeded = status?.succeeded ?? 0;
  if (spec.completions !== undefined) return `${succeeded}/${spec.completions}`;
  return (spec.parallelism ?? 0) > 1 ? `${succeeded}/1 of ${spec.parallelism}` : `${succeeded}/1`;
}

function durationText({ status }: Job, nowMs: number): string {
  if (status?.startTime === undefined) return '';
  return humanDuration(
    (status.completionTime === undefined ? nowMs : Date.parse(status.completionTime)) - Date.parse(status.startTime),
  );
}

export const jobResource = defineResource<Job>({
  type: jobs,
  singular: 'job',
  categories: ['all'],
  schema: JobSchema,
  storagePath: 'jobs',
  rules: {
    applyDefaults: defaultJob,
    prepareForCreate: (job) => ({ ...withSelector(job), status: {} }),
    validate: validateJob,
    validateName: checkDnsSubdomain,
    validateUpdate: validateJobUpdate,
    validateStatusUpdate: validateJobStatus,
    warnings,
    // For old clients of batch/v1, who expected their pods to stay.
    defaultPropagation: 'Orphan',
    propagationWarning:
      'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
  },
  selectableFields: ({ status }) => ({ 'status.successful': String(status?.succeeded ?? 0) }),
  hasStatus: true,
  countsGeneration: true,
  columns: [
    { name: 'Status', type: 'string', description: 'How far the job is.', cell: statusText },
    { name: 'Completions', type: 'string', description: 'Pods that succeeded of those needed.', cell: completionsText },
    { name: 'Duration', type: 'string', description: 'Time since the start, or until the end.', cell: durationText },
    ageColumn,
    ...templateColumns,
  ],
});
