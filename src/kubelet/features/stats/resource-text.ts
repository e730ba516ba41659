import type { FamilyType } from './exposition.ts';
import { familyHead, labelText, sampleLine } from './exposition.ts';
import type { GroupSample } from './group-samples.ts';
import type { MeasuredContainer } from './pod-groups.ts';
import type { SampledPod } from './pod-json.ts';

export interface ResourceSamples {
  readonly node: GroupSample | undefined;
  readonly pods: readonly Pick<SampledPod, 'pod' | 'group' | 'containers'>[];
}

interface Value {
  readonly value: number;
  /**
   * Wall-clock milliseconds; undefined means the time of the scrape. Rates are computed from these times, so seconds
   * are not precise enough.
   */
  readonly atMs?: number;
}

type OfGroup = (sample: GroupSample) => Value | undefined;

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: FamilyType;
  readonly node?: OfGroup;
  readonly pod?: OfGroup;
  readonly container?: (sample: GroupSample, container: MeasuredContainer) => Value | undefined;
}

const cpuSeconds: OfGroup = ({ use }) => ({ value: use.cpu.usageNs / 1e9, atMs: use.atMs });
const workingSet: OfGroup = ({ use }) => ({ value: use.memory.workingSetBytes, atMs: use.atMs });
const swapUse: OfGroup = ({ use }) => ({ value: use.memory.swapBytes, atMs: use.atMs });
const swapLimit: OfGroup = ({ use, limits }) =>
  limits.memorySwapBytes === Infinity
    ? undefined
    : { value: Math.max(limits.memorySwapBytes, use.memory.swapBytes), atMs: use.atMs };
const startTime = (_sample: GroupSample, { createdAtMs }: MeasuredContainer): Value | undefined =>
  createdAtMs > 0 ? { value: createdAtMs / 1000 } : undefined;

/**
 * The families of /metrics/resource. Names, kinds and help texts are upstream's
 * (metrics/collectors/resource_metrics.go), because tools match them. `scrape_error` is hidden there since 1.29.
 */
export const resourceFamilies: readonly Family[] = [
  {
    name: 'container_cpu_usage_seconds_total',
    type: 'counter',
    help: '[STABLE] CPU time of the container, in core-seconds',
    container: cpuSeconds,
  },
  {
    name: 'container_memory_working_set_bytes',
    type: 'gauge',
    help: '[STABLE] Working set of the container, in bytes',
    container: workingSet,
  },
  {
    name: 'container_start_time_seconds',
    type: 'gauge',
    help: '[STABLE] Time at which the container started, in seconds since the epoch',
    container: startTime,
  },
  {
    name: 'container_swap_limit_bytes',
    type: 'gauge',
    help: '[ALPHA] Limit of swap of the container, in bytes',
    container: swapLimit,
  },
  {
    name: 'container_swap_usage_bytes',
    type: 'gauge',
    help: '[ALPHA] Used swap of the container, in bytes',
    container: swapUse,
  },
  {
    name: 'node_cpu_usage_seconds_total',
    type: 'counter',
    help: '[STABLE] CPU time of the node, in core-seconds',
    node: cpuSeconds,
  },
  {
    name: 'node_memory_working_set_bytes',
    type: 'gauge',
    help: '[STABLE] Working set of the node, in bytes',
    node: workingSet,
  },
  {
    name: 'node_swap_usage_bytes',
    type: 'gauge',
    help: '[ALPHA] Used swap of the node, in bytes',
    node: swapUse,
  },
  {
    name: 'pod_cpu_usage_seconds_total',
    type: 'counter',
    help: '[STABLE] CPU time of the pod, in core-seconds',
    pod: cpuSeconds,
  },
  {
    name: 'pod_memory_working_set_bytes',
    type: 'gauge',
    help: '[STABLE] Working set of the pod, in bytes',
    pod: workingSet,
  },
  {
    name: 'pod_swap_usage_bytes',
    type: 'gauge',
    help: '[ALPHA] Used swap of the pod, in bytes',
    pod: swapUse,
  },
  {
    name: 'resource_scrape_error',
    type: 'gauge',
    help: '[STABLE] 1 if the last reading of container metrics failed, 0 otherwise',
  },
];

/** Formats the response of /metrics/resource. Without samples it only reports that there are none. */
export function resourceText(samples: ResourceSamples | undefined): string {
  const pods = (samples?.pods ?? []).map((sampled) => ({
    sampled,
    labels: labelText({ namespace: sampled.pod.namespace, pod: sampled.pod.name }),
  }));
  const containers = pods.flatMap(({ sampled, labels }) =>
    sampled.containers.map((each) => ({
      ...each,
      labels: `${labelText({ container: each.container.name })},${labels}`,
    })),
  );
  let text = '';
  for (const { name, help, type, node, pod, container } of resourceFamilies) {
    const lines: string[] =
      name === 'resource_scrape_error' ? [sampleLine(name, '', samples === undefined ? 1 : 0)] : [];
    const add = (labels: string, found: Value | undefined): void => {
      if (found !== undefined) lines.push(sampleLine(name, labels, found.value, found.atMs));
    };
    if (node !== undefined && samples?.node !== undefined) add('', node(samples.node));
    if (pod !== undefined)
      for (const { sampled, labels } of pods) if (sampled.group !== undefined) add(labels, pod(sampled.group));
    if (container !== undefined)
      for (const each of containers) add(each.labels, container(each.sample, each.container));
    if (lines.length > 0) text += familyHead(name, help, type) + lines.join('');
  }
  return text;
}
