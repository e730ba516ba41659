import { errorMessage } from '../../../base/errors.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { podMetrics } from '../../../api/client/resource-types.ts';
import type { ResourceType } from '../../../api/client/resource-type.ts';
import { parseDurationMs } from '../../../api/duration.ts';
import { PodMetricsListSchema } from '../../../api/metrics/usage-metrics.ts';
import type { PodMetrics as ApiPodMetrics } from '../../../api/metrics/usage-metrics.ts';
import { quantityMillis } from '../../../api/quantity.ts';
import { decode } from '../../../api/schema/decode.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { parseTime } from '../../../api/time.ts';
import type { OtherApis } from '../../controller-runtime/other-apis.ts';
import type { MetricsSource, PodMetric, ResourceQuery } from './metrics-source.ts';
import { reading, readAnswer } from './read-answer.ts';
import { createServedMetrics } from './served-metrics.ts';

const usageApi = { group: podMetrics.group, version: podMetrics.version };

/** The sources of metrics: this server's API, and the servers behind APIServices. */
export interface ApiMetricsParts {
  readonly client: ApiClient;
  readonly others: OtherApis;
  /** Returns the kinds to which references may refer. */
  readonly types: () => readonly ResourceType[];
}

/** Reads metrics from their APIs. This process serves metrics.k8s.io unless another server is registered for it. */
export function createApiMetrics({ client, others, types }: ApiMetricsParts): MetricsSource {
  return {
    resource: (query) => readResource({ client, others }, query),
    ...createServedMetrics(others, types),
  };
}

type UsageParts = Pick<ApiMetricsParts, 'client' | 'others'>;

const notServed = (resource: string): string => `the server could not find the requested resource (get ${resource})`;

async function readResource(
  parts: UsageParts,
  { namespace, podSelector, resource, container }: ResourceQuery,
): Promise<ReadonlyMap<string, PodMetric>> {
  const items = await listPods(parts, namespace, podSelector);
  if (items.length === 0) throw new Error('no metrics returned from resource metrics API');
  const metrics = new Map<string, PodMetric>();
  for (const each of items) {
    const milliValue = container === undefined ? usageOfPod(each, resource) : usageOf(each, resource, container);
    if (milliValue === undefined) continue;
    const atMs = parseTime(each.timestamp) ?? 0;
    metrics.set(each.metadata.name, { milliValue, atMs, windowMs: parseDurationMs(each.window) ?? 0 });
  }
  return metrics;
}

async function listPods(
  { client, others }: UsageParts,
  namespace: string,
  labelSelector: string,
): Promise<readonly ApiPodMetrics[]> {
  try {
    if (others.versionOf(usageApi.group, [usageApi.version]) === undefined)
      return (await client.list(podMetrics, namespace, { labelSelector })).items;
    const asked = labelSelector === '' ? '' : `?${new URLSearchParams({ labelSelector }).toString()}`;
    const path = `/apis/${usageApi.group}/${usageApi.version}/namespaces/${encodeURIComponent(namespace)}/pods${asked}`;
    return readAnswer(
      PodMetricsListSchema.name,
      decode(PodMetricsListSchema, await others.get(usageApi, path), reading),
    ).items;
  } catch (error) {
    const why = isApiError(error, 'NotFound') ? notServed('pods.metrics.k8s.io') : errorMessage(error);
    throw new Error(`unable to fetch metrics from resource metrics API: ${why}`, { cause: error });
  }
}

/** Returns the usage of a pod, or undefined if a container has no value, because the sum would be too small. */
function usageOfPod({ containers }: ApiPodMetrics, resource: string): bigint | undefined {
  let sum = 0n;
  for (const { usage } of containers) {
    const amount = usage[resource];
    if (amount === undefined) return undefined;
    sum += quantityMillis(amount);
  }
  return containers.length === 0 ? undefined : sum;
}

function usageOf({ containers }: ApiPodMetrics, resource: string, container: string): bigint | undefined {
  const amount = containers.find(({ name }) => name === container)?.usage[resource];
  return amount === undefined ? undefined : quantityMillis(amount);
}
