import type { Job } from '../../../api/batch/job.ts';
import { jobs } from '../../../api/client/resource-types.ts';
import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { podFromTemplate } from '../../controller-runtime/pod-control.ts';
import { indexFailures, indexIgnoredFailures, isIndexed, jobAnnotations, TRACKING_FINALIZER } from './job-facts.ts';
import { matchFailurePolicy } from './pod-failure-policy.ts';

const INDEX_ENV = 'JOB_COMPLETION_INDEX';
/** The maximum prefix, so that five letters and the longest label fit (upstream: names.MaxGeneratedNameLength). */
const LONGEST_PREFIX = 58;

/**
 * Builds a pod of the job, with its index if any. `replaced` is the failed pod of that index whose failure count it
 * continues.
 */
export function buildJobPod(job: Job, index: number | undefined, replaced: Pod | undefined): Pod {
  const pod = podFromTemplate(jobs, job, job.spec.template);
  const finalizers = [...new Set([...(pod.metadata.finalizers ?? []), TRACKING_FINALIZER])];
  const tracked: Pod = {
    ...pod,
    metadata: { ...pod.metadata, finalizers },
    spec: isIndexed(job) ? withIndexEnv(pod.spec) : pod.spec,
  };
  return index === undefined ? tracked : withIndex(job, tracked, index, replaced);
}

function withIndex(job: Job, pod: Pod, index: number, replaced: Pod | undefined): Pod {
  const { name } = job.metadata;
  const suffix = `-${index}-`;
  const number = String(index);
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      generateName: `${name.slice(0, LONGEST_PREFIX - suffix.length)}${suffix}`,
      labels: { ...pod.metadata.labels, [jobAnnotations.completionIndex]: number },
      annotations: {
        ...pod.metadata.annotations,
        [jobAnnotations.completionIndex]: number,
        ...(job.spec.backoffLimitPerIndex !== undefined && failureCounts(job, replaced)),
      },
    },
    spec: { ...pod.spec, hostname: `${name}-${index}` },
  };
}

function failureCounts(job: Job, replaced: Pod | undefined): Record<string, string> {
  if (replaced === undefined) return { [jobAnnotations.indexFailures]: '0' };
  const { counts } = matchFailurePolicy(job.spec.podFailurePolicy, replaced);
  const ignored = indexIgnoredFailures(replaced) + (counts ? 0 : 1);
  return {
    [jobAnnotations.indexFailures]: String(indexFailures(replaced) + (counts ? 1 : 0)),
    ...(ignored > 0 && { [jobAnnotations.indexIgnoredFailures]: String(ignored) }),
  };
}

function withIndexEnv(spec: Pod['spec']): Pod['spec'] {
  const fieldPath = `metadata.labels['${jobAnnotations.completionIndex}']`;
  const added = (container: Container): Container =>
    container.env?.some(({ name }) => name === INDEX_ENV) === true
      ? container
      : { ...container, env: [...(container.env ?? []), { name: INDEX_ENV, valueFrom: { fieldRef: { fieldPath } } }] };
  return {
    ...spec,
    containers: spec.containers.map(added),
    ...(spec.initContainers !== undefined && { initContainers: spec.initContainers.map(added) }),
  };
}
