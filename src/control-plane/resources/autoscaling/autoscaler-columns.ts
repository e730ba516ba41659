import type {
  HorizontalPodAutoscaler,
  MetricSpec,
  MetricStatus,
} from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import type { TableColumn } from '../../model/resource-definition.ts';
import { ageColumn } from '../print-cells.ts';

const MOST_SHOWN = 2;
const UNKNOWN = '<unknown>';

export const autoscalerColumns: readonly TableColumn<HorizontalPodAutoscaler>[] = [
  {
    name: 'Reference',
    type: 'string',
    description: 'The workload that is scaled.',
    cell: ({ spec }) => `${spec.scaleTargetRef.kind}/${spec.scaleTargetRef.name}`,
  },
  {
    name: 'Targets',
    type: 'string',
    description: 'Each metric: its value and its target.',
    cell: ({ spec, status }) => formatMetrics(spec.metrics ?? [], status?.currentMetrics ?? []),
  },
  {
    name: 'MinPods',
    type: 'string',
    description: 'The lowest number of pods.',
    cell: ({ spec }) => (spec.minReplicas === undefined ? '<unset>' : String(spec.minReplicas)),
  },
  { name: 'MaxPods', type: 'string', description: 'The highest number of pods.', cell: ({ spec }) => spec.maxReplicas },
  {
    name: 'Replicas',
    type: 'string',
    description: 'The number of pods.',
    cell: ({ status }) => status?.currentReplicas ?? 0,
  },
  ageColumn,
];

/** Upstream: printers formatHPAMetrics. */
function formatMetrics(specs: readonly MetricSpec[], statuses: readonly MetricStatus[]): string {
  if (specs.length === 0) return '<none>';
  const shown = specs.slice(0, MOST_SHOWN).map((spec, index) => formatMetric(spec, statuses[index]));
  const more = specs.length > MOST_SHOWN ? ` + ${specs.length - MOST_SHOWN} more...` : '';
  return `${shown.join(', ')}${more}`;
}

function formatMetric(spec: MetricSpec, status: MetricStatus | undefined): string {
  switch (spec.type) {
    case 'External':
      return formatValue(spec.external?.target, status?.external?.current);
    case 'Object':
      return formatValue(spec.object?.target, status?.object?.current);
    case 'Pods':
      return `${status?.pods?.current.averageValue ?? UNKNOWN}/${spec.pods?.target.averageValue ?? UNKNOWN}`;
    case 'Resource':
      return formatResource(spec.resource, status?.resource?.current);
    case 'ContainerResource':
      return formatResource(spec.containerResource, status?.containerResource?.current);
    default:
      return '<unknown type>';
  }
}

interface Values {
  readonly value?: string;
  readonly averageValue?: string;
  readonly averageUtilization?: number;
}

function formatValue(target: Values = {}, current: Values = {}): string {
  return target.averageValue === undefined
    ? `${current.value ?? UNKNOWN}/${target.value ?? UNKNOWN}`
    : `${current.averageValue ?? UNKNOWN}/${target.averageValue} (avg)`;
}

function formatResource(
  source: { readonly name: string; readonly target: Values } | undefined,
  current: Values = {},
): string {
  const { name = '', target = {} } = source ?? {};
  if (target.averageValue !== undefined) return `${name}: ${current.averageValue ?? UNKNOWN}/${target.averageValue}`;
  const wanted = target.averageUtilization === undefined ? '<auto>' : `${target.averageUtilization}%`;
  const used = current.averageUtilization === undefined ? UNKNOWN : `${current.averageUtilization}%`;
  return `${name}: ${used}/${wanted}`;
}
