import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ResourceType } from '../../../api/client/resource-type.ts';
import { nodeMetrics, nodes as nodeType, podMetrics } from '../../../api/client/resource-types.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { silentLogger } from '../../../base/log.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import type { Registry, ResourceRequest } from '../../registry/registry.ts';
import { computeNodeUsage, computeUsage } from './compute-usage.ts';
import { parseResourceMetrics } from './parse-resource-metrics.ts';
import { UsageCache } from './usage-cache.ts';
import { usageRegistry } from './usage-registry.ts';

const T0 = Date.UTC(2026, 0, 1);

/** Returns a kubelet's metrics after `seconds` of CPU of each container. */
function metricsText(atMs: number, containers: Readonly<Record<string, number>>, startedAtMs = T0 - 60_000): string {
  const lines = Object.entries(containers).flatMap(([key, seconds]) => {
    const [pod = '', container = ''] = key.split('/');
    const labels = `{container="${container}",namespace="default",pod="${pod}"}`;
    return [
      `container_cpu_usage_seconds_total${labels} ${seconds} ${atMs}`,
      `container_memory_working_set_bytes${labels} 1048576 ${atMs}`,
      `container_start_time_seconds${labels} ${startedAtMs / 1000}`,
    ];
  });
  return [
    `# HELP node_cpu_usage_seconds_total x`,
    `node_cpu_usage_seconds_total 100.5 ${atMs}`,
    `node_memory_working_set_bytes 2.097152e+06 ${atMs}`,
    ...lines,
    'resource_scrape_error 0',
    '',
  ].join('\n');
}

describe("a kubelet's numbers", () => {
  it('are read with their times, and incomplete ones are omitted', () => {
    const { node, containers } = parseResourceMetrics(
      `${metricsText(T0, { 'a/web': 3 })}container_cpu_usage_seconds_total{container="new",namespace="default",pod="b"} 1 ${T0}\n`,
      7,
    );
    assert.deepEqual([node?.cpuSeconds, node?.memoryBytes, node?.atMs], [100.5, 2_097_152, T0]);
    assert.deepEqual([...containers.keys()], ['default/a/web']);
    assert.deepEqual(parseResourceMetrics('not metrics at all\ncontainer_cpu_usage_seconds_total{} NaN', 0), {
      node: undefined,
      containers: new Map(),
    });
  });

  it('become rates between two readings, or since the start of a new container', () => {
    const point = (atMs: number, cpuSeconds: number, startedAtMs = 0) => ({
      atMs,
      cpuSeconds,
      memoryBytes: 5,
      startedAtMs,
    });
    assert.deepEqual(computeUsage(point(0, 1), point(10_000, 6)), {
      cpuNanoCores: 500_000_000,
      memoryBytes: 5,
      atMs: 10_000,
      windowMs: 10_000,
    });
    assert.deepEqual(computeUsage(point(0, 9), point(10_000, 2, 6000))?.cpuNanoCores, 500_000_000);
    assert.equal(computeUsage(undefined, { ...point(10_000, 2), startedAtMs: undefined }), undefined);
    assert.equal(computeUsage(point(10_000, 1), point(10_100, 6)), undefined);
  });

  it('omit pods with a missing container', () => {
    const before = parseResourceMetrics(metricsText(T0, { 'a/web': 1, 'b/one': 1 }), T0);
    const late = parseResourceMetrics(metricsText(T0 + 10_000, { 'a/web': 2, 'b/one': 1 }), T0);
    const two = parseResourceMetrics(metricsText(T0 + 10_000, { 'b/two': 0 }, T0 + 9900), T0);
    const now = { node: late.node, containers: new Map([...late.containers, ...two.containers]) };
    assert.deepEqual([...computeNodeUsage(before, now).pods.keys()], ['default/a']);
  });
});

const named = (
  name: string,
  labels: Record<string, string> = {},
): { name: string; namespace: string; uid: string; labels: Record<string, string> } => ({
  name,
  namespace: '',
  uid: `uid-${name}`,
  labels,
});
const node = (name: string): Node => ({ metadata: named(name, { zone: name }), spec: {}, status: {} });
const pod = (name: string, nodeName: string): Pod => ({
  metadata: { ...named(name, { app: name }), namespace: 'default' },
  spec: { containers: [], nodeName },
});

/** Builds a definition with only its type. */
const definitionOf = (type: ResourceType): ResourceDefinition => ({ type }) as ResourceDefinition;

/** Creates two nodes, of which `away` does not respond. */
function fixture() {
  const clock = new FakeClock(T0);
  let asked = 0;
  const cache = new UsageCache({
    clock,
    log: silentLogger,
    scrape: (of) => {
      asked++;
      if (of.metadata.name === 'away') return Promise.reject(new Error('dial tcp: connection refused'));
      const seconds = (clock.nowMs() - T0) / 4000;
      return Promise.resolve(metricsText(clock.nowMs(), { 'a/web': seconds, 'a/side': 0, 'b/web': seconds * 2 }));
    },
  });
  const all = [node('here'), node('away')];
  const pods = [pod('a', 'here'), pod('b', 'here'), pod('c', 'away'), pod('waits', '')];
  const unused = {} as Registry;
  const registry = usageRegistry({
    registry: { ...unused, list: () => Promise.resolve({ items: [], resourceVersion: 'stored' }) },
    nodes: () => all,
    pods: () => pods,
    usage: (of) => cache.usage(of),
    nowMs: () => clock.nowMs(),
  });
  const [nodeDefinition, podDefinition] = [definitionOf(nodeMetrics), definitionOf(podMetrics)];
  const request = (definition: ResourceDefinition, name = '', namespace = 'default') =>
    ({ definition, namespace, name, subresource: '', context: {} }) as ResourceRequest;
  /** Waits for the second reading of the first response. */
  const settled = async <T>(work: Promise<T>): Promise<T> => {
    work.catch(() => undefined);
    await clock.advance(1000);
    return work;
  };
  return { clock, registry, request, settled, nodeDefinition, podDefinition, asked: () => asked };
}

describe('metrics.k8s.io', () => {
  it('takes two readings the first time and none in the next 15 s', async () => {
    const { clock, registry, request, settled, nodeDefinition, podDefinition, asked } = fixture();
    const { items } = await settled(registry.list(request(nodeDefinition, '', ''), {}));
    assert.deepEqual(
      items.map(({ json }) => JSON.parse(json) as unknown),
      [
        {
          kind: 'NodeMetrics',
          apiVersion: 'metrics.k8s.io/v1beta1',
          metadata: { name: 'here', labels: { zone: 'here' }, creationTimestamp: '2026-01-01T00:00:01Z' },
          timestamp: '2026-01-01T00:00:01Z',
          window: '1s',
          usage: { cpu: '0n', memory: '2048Ki' },
        },
      ],
    );
    assert.equal(asked(), 3, 'two of the one, one of the other');
    const { items: pods } = await settled(registry.list(request(podDefinition), {}));
    assert.deepEqual(
      pods.map(({ object }) => object.metadata.name),
      ['a', 'b'],
    );
    await clock.advance(20_000);
    const later = await registry.get(request(podDefinition, 'b'), {});
    const { containers, window } = JSON.parse(later.json) as { containers: unknown; window: string };
    assert.deepEqual([containers, window], [[{ name: 'web', usage: { cpu: '500000000n', memory: '1024Ki' } }], '21s']);
  });

  it('selects by labels and names, and reports missing objects', async () => {
    const { registry, request, settled, nodeDefinition, podDefinition } = fixture();
    const list = async (options: { labelSelector?: string; fieldSelector?: string }) =>
      (await settled(registry.list(request(podDefinition), options))).items.map(({ object }) => object.metadata.name);
    assert.deepEqual(
      [
        await list({ labelSelector: 'app in (b)' }),
        await list({ fieldSelector: 'metadata.name=a' }),
        await list({ labelSelector: 'app=c' }),
      ],
      [['b'], ['a'], []],
    );
    await assert.rejects(registry.list(request(podDefinition), { labelSelector: 'a===' }), (error) =>
      isApiError(error, 'BadRequest'),
    );
    const refusal = async (definition: typeof podDefinition, name: string, namespace?: string): Promise<string> => {
      const error: unknown = await settled(registry.get(request(definition, name, namespace), {})).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      assert.ok(isApiError(error, 'NotFound'));
      return error.message;
    };
    assert.equal(await refusal(podDefinition, 'c'), 'podmetrics.metrics.k8s.io "default/c" not found');
    assert.equal(await refusal(podDefinition, 'nobody'), 'pods "nobody" not found');
    assert.equal(await refusal(nodeDefinition, 'away', ''), 'nodemetrics.metrics.k8s.io "away" not found');
    assert.equal(await refusal(nodeDefinition, 'nowhere', ''), 'node "nowhere" not found');
  });

  it('leaves all other kinds to the stored registry', async () => {
    const { registry, request, nodeDefinition } = fixture();
    assert.equal((await registry.list(request({ ...nodeDefinition, type: nodeType }), {})).resourceVersion, 'stored');
  });
});
