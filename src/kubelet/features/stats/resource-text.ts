import { familyHead, labelText, sampleLine, type FamilyType } from './exposition.ts';
import type { ContainerStats, NodeStats, PodStats, Summary } from './summary-types.ts';

interface Family {
  name: string;
  help: string;
  type: FamilyType;
  node?: (node: NodeStats) => Value | undefined;
  pod?: (pod: PodStats) => Value | undefined;
  container?: (container: ContainerStats) => Value | undefined;
}

interface Value {
  value: number;
  /** RFC 3339; undefined: the time of the scrape. */
  time?: string;
}

const SECONDS_PER_NS = 1e-9;

type Measured = Pick<ContainerStats, 'cpu' | 'memory' | 'swap'>;

const cpuSeconds = ({ cpu }: Measured): Value | undefined => (cpu?.usageCoreNanoSeconds === undefined ? undefined : { value: cpu.usageCoreNanoSeconds * SECONDS_PER_NS, time: cpu.time });
const workingSet = ({ memory }: Measured): Value | undefined => (memory?.workingSetBytes === undefined ? undefined : { value: memory.workingSetBytes, time: memory.time });
const swapUse = ({ swap }: Measured): Value | undefined => (swap?.swapUsageBytes === undefined ? undefined : { value: swap.swapUsageBytes, time: swap.time });
const swapLimit = ({ swap }: Measured): Value | undefined => (swap?.swapAvailableBytes === undefined ? undefined : { value: swap.swapAvailableBytes + (swap.swapUsageBytes ?? 0), time: swap.time });
const startTime = ({ startTime: time }: ContainerStats): Value | undefined => (time === null ? undefined : { value: Date.parse(time) / 1000 });

/** Names, kinds and help are upstream's (metrics/collectors/resource_metrics.go): tools match them. `scrape_error` is hidden there since 1.29. */
export const resourceFamilies: readonly Family[] = [
  { name: 'container_cpu_usage_seconds_total', type: 'counter', help: '[STABLE] Cumulative cpu time consumed by the container in core-seconds', container: cpuSeconds },
  { name: 'container_memory_working_set_bytes', type: 'gauge', help: '[STABLE] Current working set of the container in bytes', container: workingSet },
  { name: 'container_start_time_seconds', type: 'gauge', help: '[STABLE] Start time of the container since unix epoch in seconds', container: startTime },
  { name: 'container_swap_limit_bytes', type: 'gauge', help: '[ALPHA] Current amount of the container swap limit in bytes. Reported only on non-windows systems', container: swapLimit },
  { name: 'container_swap_usage_bytes', type: 'gauge', help: '[ALPHA] Current amount of the container swap usage in bytes. Reported only on non-windows systems', container: swapUse },
  { name: 'node_cpu_usage_seconds_total', type: 'counter', help: '[STABLE] Cumulative cpu time consumed by the node in core-seconds', node: cpuSeconds },
  { name: 'node_memory_working_set_bytes', type: 'gauge', help: '[STABLE] Current working set of the node in bytes', node: workingSet },
  { name: 'node_swap_usage_bytes', type: 'gauge', help: '[ALPHA] Current swap usage of the node in bytes. Reported only on non-windows systems', node: swapUse },
  { name: 'pod_cpu_usage_seconds_total', type: 'counter', help: '[STABLE] Cumulative cpu time consumed by the pod in core-seconds', pod: cpuSeconds },
  { name: 'pod_memory_working_set_bytes', type: 'gauge', help: '[STABLE] Current working set of the pod in bytes', pod: workingSet },
  { name: 'pod_swap_usage_bytes', type: 'gauge', help: '[ALPHA] Current amount of the pod swap usage in bytes. Reported only on non-windows systems', pod: swapUse },
  { name: 'resource_scrape_error', type: 'gauge', help: '[STABLE] 1 if there was an error while getting container metrics, 0 otherwise' },
];

/** The answer of /metrics/resource; without a summary it tells only that there is none. */
export function resourceText(summary: Summary | undefined): string {
  const pods = (summary?.pods ?? []).map((stats) => ({ stats, labels: labelText({ namespace: stats.podRef.namespace, pod: stats.podRef.name }) }));
  const containers = pods.flatMap(({ stats, labels }) => stats.containers.map((container) => ({ stats: container, labels: `${labelText({ container: container.name })},${labels}` })));
  let text = '';
  for (const { name, help, type, node, pod, container } of resourceFamilies) {
    const lines: string[] = name === 'resource_scrape_error' ? [sampleLine(name, '', summary === undefined ? 1 : 0)] : [];
    const add = (labels: string, found: Value | undefined): void => {
      if (found !== undefined) lines.push(sampleLine(name, labels, found.value, found.time === undefined ? undefined : Date.parse(found.time)));
    };
    if (summary !== undefined && node !== undefined) add('', node(summary.node));
    if (pod !== undefined) for (const { stats, labels } of pods) add(labels, pod(stats));
    if (container !== undefined) for (const { stats, labels } of containers) add(labels, container(stats));
    if (lines.length > 0) text += familyHead(name, help, type) + lines.join('');
  }
  return text;
}
