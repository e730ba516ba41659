import { nodeMetrics, podMetrics } from '../../../api/client/resource-types.ts';
import type { NodeMetrics, PodMetrics } from '../../../api/metrics/usage-metrics.ts';
import { NodeMetricsSchema, PodMetricsSchema } from '../../../api/metrics/usage-metrics.ts';
import { addQuantities } from '../../../api/quantity.ts';
import type { ResourceDefinition, TableColumn } from '../../model/resource-definition.ts';
import { defineResource } from '../define-resource.ts';

const rules = { applyDefaults: <T>(object: T): T => object, validate: () => [], validateUpdate: () => [] };

type Usage = Readonly<Record<string, string>>;

function columns<T extends NodeMetrics | PodMetrics>(
  usages: (object: T) => readonly Usage[],
): readonly TableColumn<T>[] {
  const sum = (object: T, resource: string): string =>
    usages(object).reduce((total, usage) => addQuantities(total, usage[resource] ?? '0'), '0');
  return [
    { name: 'cpu', type: 'string', description: 'CPU in use.', cell: (object) => sum(object, 'cpu') },
    { name: 'memory', type: 'string', description: 'Memory in use.', cell: (object) => sum(object, 'memory') },
    {
      name: 'window',
      type: 'string',
      description: 'How long the time was that the numbers are of.',
      cell: ({ window }) => window,
    },
  ];
}

const nodes: ResourceDefinition<NodeMetrics> = {
  type: nodeMetrics,
  singular: '',
  verbs: ['get', 'list'],
  schema: NodeMetricsSchema,
  storagePath: '',
  rules,
  columns: columns(({ usage }) => [usage]),
};
const pods: ResourceDefinition<PodMetrics> = {
  type: podMetrics,
  singular: '',
  verbs: ['get', 'list'],
  schema: PodMetricsSchema,
  storagePath: '',
  rules,
  columns: columns(({ containers }) => containers.map(({ usage }) => usage)),
};

/** The kinds of usage, which are not stored but computed on request. Only the HTTP front end uses them. */
export const usageResources: readonly ResourceDefinition[] = [defineResource(nodes), defineResource(pods)];
