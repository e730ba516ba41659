import { MetricDescriptor, MetricType, PodSandboxMetrics } from '../../cri/generated/cri-v1.ts';
import type { ContainerStats, Metric, PodSandboxStats, UInt64Value } from '../../cri/generated/cri-v1.ts';

/** The labels that cAdvisor uses for metrics of pods. */
const podLabels = ['id', 'name', 'image', 'container', 'pod', 'namespace'] as const;
const interfaceLabels = [...podLabels, 'interface'] as const;

type Stats = Pick<ContainerStats, 'cpu' | 'memory'>;

interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: MetricType;
  readonly value: (stats: Stats) => UInt64Value | undefined;
}

const NANOS_PER_SECOND = 1_000_000_000n;
const { COUNTER, GAUGE } = MetricType;

/** Values are integers in the CRI. */
const seconds = (nanos: UInt64Value | undefined): UInt64Value | undefined =>
  nanos === undefined ? undefined : { value: nanos.value / NANOS_PER_SECOND };

const families: readonly Family[] = [
  {
    name: 'container_cpu_usage_seconds_total',
    help: 'CPU time in user and kernel mode, in seconds',
    type: COUNTER,
    value: ({ cpu }) => seconds(cpu?.usageCoreNanoSeconds),
  },
  {
    name: 'container_memory_usage_bytes',
    help: 'Memory usage, page cache included, in bytes.',
    type: GAUGE,
    value: ({ memory }) => memory?.usageBytes,
  },
  {
    name: 'container_memory_working_set_bytes',
    help: 'Working set in bytes: memory usage without inactive page cache',
    type: GAUGE,
    value: ({ memory }) => memory?.workingSetBytes,
  },
  {
    name: 'container_memory_rss',
    help: 'Anonymous memory (RSS), in bytes',
    type: GAUGE,
    value: ({ memory }) => memory?.rssBytes,
  },
];

const interfaceFamilies = [
  ['container_network_receive_bytes_total', 'Bytes received by the network interface.', 'rxBytes'],
  ['container_network_receive_errors_total', 'Receive errors of the network interface.', 'rxErrors'],
  ['container_network_transmit_bytes_total', 'Bytes sent by the network interface.', 'txBytes'],
  ['container_network_transmit_errors_total', 'Send errors of the network interface.', 'txErrors'],
] as const;

export const metricDescriptors: readonly MetricDescriptor[] = [
  ...families.map(({ name, help }) => MetricDescriptor.fromPartial({ name, help, labelKeys: [...podLabels] })),
  ...interfaceFamilies.map(([name, help]) =>
    MetricDescriptor.fromPartial({ name, help, labelKeys: [...interfaceLabels] }),
  ),
];

/** The statistics of a pod as the metrics that the descriptors declare. */
export function podMetrics(stats: PodSandboxStats): PodSandboxMetrics {
  const { id = '', metadata } = stats.attributes ?? {};
  const pod = [metadata?.name ?? '', metadata?.namespace ?? ''];
  const { cpu, memory, network, containers = [] } = stats.linux ?? {};
  const sandbox = [id, metadata?.name ?? '', '', 'POD', ...pod];
  return PodSandboxMetrics.fromPartial({
    podSandboxId: id,
    metrics: [
      ...figures({ cpu, memory }, sandbox),
      ...(network?.interfaces ?? []).flatMap((each) =>
        interfaceFamilies.map(([name, , field]) => ({
          name,
          timestamp: network?.timestamp ?? 0n,
          metricType: COUNTER,
          labelValues: [...sandbox, each.name],
          ...(each[field] !== undefined && { value: each[field] }),
        })),
      ),
    ],
    containerMetrics: containers.map((each) => {
      const name = each.attributes?.metadata?.name ?? '';
      const containerId = each.attributes?.id ?? '';
      return { containerId, metrics: figures(each, [containerId, name, '', name, ...pod]) };
    }),
  });
}

function figures(stats: Stats, labelValues: string[]): Metric[] {
  const timestamp = stats.cpu?.timestamp ?? stats.memory?.timestamp ?? 0n;
  return families.flatMap(({ name, type, value }) => {
    const read = value(stats);
    return read === undefined ? [] : [{ name, timestamp, metricType: type, labelValues, value: read }];
  });
}
