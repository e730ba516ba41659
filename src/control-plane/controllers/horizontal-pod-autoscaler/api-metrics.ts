import { errorMessage } from '../../../base/errors.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { podMetrics } from '../../../api/client/resource-types.ts';
import type { MetricIdentifier } from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import { parseDurationMs } from '../../../api/duration.ts';
import type { PodMetrics as ApiPodMetrics } from '../../../api/metrics/usage-metrics.ts';
import { quantityMillis } from '../../../api/quantity.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { parseTime } from '../../../api/time.ts';
import type { MetricsSource, PodMetric, ResourceQuery } from './metrics-source.ts';

/**
 * Reads metrics of metrics.k8s.io through the client. custom.metrics.k8s.io and external.metrics.k8s.io are not read,
 * even if an APIService serves them: the error is upstream's for a cluster without these APIs.
 */
export function createApiMetrics(client: ApiClient): MetricsSource {
  const custom = (): Promise<never> =>
    Promise.reject(
      new Error(
        'unable to fetch metrics from custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered',
      ),
    );
  return {
    resource: (query) => readResource(client, query),
    pods: custom,
    object: custom,
    external: (_namespace, { name }: MetricIdentifier) =>
      Promise.reject(
        new Error(`unable to fetch metrics from external metrics API: ${notServed(`${name}.external.metrics.k8s.io`)}`),
      ),
  };
}

const notServed = (resource: string): string => `the server could not find the requested resource (get ${resource})`;

async function readResource(
  client: ApiClient,
  { namespace, podSelector, resource, container }: ResourceQuery,
): Promise<ReadonlyMap<string, PodMetric>> {
  const items = await listPods(client, namespace, podSelector);
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
  client: ApiClient,
  namespace: string,
  labelSelector: string,
): Promise<readonly ApiPodMetrics[]> {
  try {
    return (await client.list(podMetrics, namespace, { labelSelector })).items;
  } catch (error) {
    const why = isApiError(error, 'NotFound') ? notServed('pods.metrics.k8s.io') : errorMessage(error);
    throw new Error(`unable to fetch metrics from resource metrics API: ${why}`, { cause: error });
  }
}

/** Undefined if a container has no value, because the sum would be too small. */
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
