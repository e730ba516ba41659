import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { formatTime } from '../../../api/time.ts';
import {
  replicasForAverage,
  replicasForShare,
  replicasForUtilization,
  replicasForValue,
  sumOf,
} from './compute-replicas.ts';
import type { Proposal, ReplicaFacts } from './compute-replicas.ts';
import type { PodMetrics } from './metrics-source.ts';

const nowMs = Date.parse('2026-01-01T12:00:00Z');
const MINUTE_MS = 60_000;

interface Sketch {
  readonly phase?: 'Pending' | 'Running' | 'Failed';
  readonly ready?: boolean;
  readonly startedMs?: number;
  readonly changedMs?: number;
  readonly leaving?: boolean;
  readonly request?: string;
}

function podOf(
  name: string,
  { phase = 'Running', ready = true, startedMs = nowMs - 60 * MINUTE_MS, ...more }: Sketch = {},
): Pod {
  const pod = buildPod({ 'metadata.name': name });
  const [container] = pod.spec.containers;
  const { request = '1', changedMs = startedMs, leaving = false } = more;
  return {
    ...pod,
    metadata: { ...pod.metadata, ...(leaving && { deletionTimestamp: formatTime(nowMs) }) },
    spec: {
      ...pod.spec,
      containers: [
        {
          ...container,
          name: 'app',
          ...(request !== '' && { resources: { requests: { cpu: request, memory: '1Gi' } } }),
        },
      ],
    },
    status: {
      phase,
      startTime: formatTime(startedMs),
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: formatTime(changedMs) }],
    },
  } as Pod;
}

const metricsOf = (values: Readonly<Record<string, number>>): PodMetrics =>
  new Map(
    Object.entries(values).map(([name, value]) => [
      name,
      { milliValue: BigInt(value), atMs: nowMs - 1_000, windowMs: 30_000 },
    ]),
  );
const factsOf = (pods: readonly Pod[], currentReplicas = pods.length): ReplicaFacts => ({
  currentReplicas,
  pods,
  tolerances: { up: 0.1, down: 0.1 },
  settings: { cpuInitializationMs: 5 * MINUTE_MS, initialReadinessMs: 30_000 },
  nowMs,
});
const cpu = { resource: 'cpu', percent: 50 };
const threePods = ['a', 'b', 'c'].map((name) => podOf(name));
const replicas = (found: Proposal | string): number | string => (typeof found === 'string' ? found : found.replicas);

it("utilization is relative to the pods' requests, and small differences change nothing", () => {
  const used = (value: number): Proposal | string =>
    replicasForUtilization(factsOf(threePods), metricsOf({ a: value, b: value, c: value }), cpu);
  assert.deepEqual(used(540), { replicas: 3, percent: 54, milliValue: 540n });
  assert.deepEqual(used(560), { replicas: 4, percent: 56, milliValue: 560n });
  assert.deepEqual(used(1_000), { replicas: 6, percent: 100, milliValue: 1_000n });
  assert.deepEqual(used(100), { replicas: 1, percent: 10, milliValue: 100n });
});

it('pods without a value count as busy when scaling down, and as idle when scaling up', () => {
  const facts = factsOf(threePods);
  assert.equal(replicas(replicasForUtilization(facts, metricsOf({ a: 100, b: 100 }), cpu)), 3);
  assert.equal(replicas(replicasForUtilization(facts, metricsOf({ a: 1_000, b: 1_000 }), cpu)), 4);
  assert.equal(replicas(replicasForUtilization(facts, metricsOf({ a: 1_000 }), cpu)), 3);
  const average = { resource: 'cpu', milliValue: 500n };
  assert.equal(replicas(replicasForAverage(facts, metricsOf({ a: 100, b: 100 }), average)), 2);
  assert.equal(replicas(replicasForAverage(facts, metricsOf({ a: 1_000, b: 1_000 }), average)), 4);
});

it('pending, starting and terminating pods do not count, and unready ones count as idle when scaling up', () => {
  const starting = podOf('c', { startedMs: nowMs - MINUTE_MS, ready: false });
  const busy = metricsOf({ a: 1_000, b: 1_000, c: 9_000 });
  assert.equal(replicas(replicasForUtilization(factsOf([...threePods.slice(0, 2), starting]), busy, cpu)), 4);
  const fresh = podOf('c', { startedMs: nowMs - MINUTE_MS, changedMs: nowMs - 10_000 });
  assert.equal(replicas(replicasForUtilization(factsOf([...threePods.slice(0, 2), fresh]), busy, cpu)), 4);
  const pending = podOf('c', { phase: 'Pending', ready: false });
  assert.equal(replicas(replicasForUtilization(factsOf([...threePods.slice(0, 2), pending]), busy, cpu)), 4);
  const leaving = podOf('c', { leaving: true });
  assert.equal(replicas(replicasForUtilization(factsOf([...threePods.slice(0, 2), leaving], 2), busy, cpu)), 4);
  const neverReady = podOf('c', { ready: false, changedMs: nowMs - 60 * MINUTE_MS + 10_000 });
  assert.equal(replicas(replicasForUtilization(factsOf([...threePods.slice(0, 2), neverReady]), busy, cpu)), 4);
  const lostReadiness = podOf('c', { ready: false, changedMs: nowMs - MINUTE_MS });
  assert.equal(replicas(replicasForUtilization(factsOf([...threePods.slice(0, 2), lostReadiness]), busy, cpu)), 22);
  // Memory has no startup phase.
  assert.equal(
    replicas(
      replicasForAverage(factsOf([...threePods.slice(0, 2), starting]), busy, {
        resource: 'memory',
        milliValue: 1_000n,
      }),
    ),
    11,
  );
});

it("reports with upstream's texts why there is no replica count", () => {
  const facts = factsOf(threePods);
  assert.equal(
    replicasForUtilization(factsOf([]), metricsOf({}), cpu),
    'no pods returned by selector while calculating replica count',
  );
  assert.equal(
    replicasForUtilization(facts, metricsOf({}), cpu),
    'did not receive metrics for targeted pods (pods might be unready)',
  );
  assert.equal(
    replicasForUtilization(factsOf([podOf('a', { request: '' })]), metricsOf({ a: 1 }), cpu),
    'missing request for cpu in container app of Pod a',
  );
  assert.equal(
    replicasForUtilization(facts, metricsOf({ a: 1, b: 1, c: 1 }), { ...cpu, container: 'other' }),
    'container other not found in Pod a',
  );
  assert.equal(
    replicasForValue(factsOf([], 1), 9n, 1n),
    'unable to calculate ready pods: no pods returned by selector while calculating replica count',
  );
});

it('a value is compared with its target as a total or per pod', () => {
  const facts = factsOf(threePods);
  assert.deepEqual(replicasForValue(facts, 2_000n, 1_000n), { replicas: 6, milliValue: 2_000n });
  assert.deepEqual(replicasForValue(facts, 1_050n, 1_000n), { replicas: 3, milliValue: 1_050n });
  assert.deepEqual(replicasForShare(3, facts.tolerances, 10_000n, 1_000n), { replicas: 10, milliValue: 3_334n });
  assert.deepEqual(replicasForShare(3, facts.tolerances, 3_100n, 1_000n), { replicas: 3, milliValue: 1_034n });
  assert.equal(sumOf([2n ** 62n, 2n ** 62n]), 2n ** 63n - 1n);
  assert.equal(replicas(replicasForValue(facts, 2n ** 63n - 1n, 1n)), 2_147_483_647);
  assert.equal(replicas(replicasForValue(factsOf([], 0), 1_500n, 1_000n)), 2);
});

it('pods with unknown usage never increase the change or reverse its direction', () =>
  fc.assert(
    fc.property(
      fc.array(fc.option(fc.integer({ min: 0, max: 3_000 })), { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 10, max: 200 }),
      (uses, percent) => {
        const pods = uses.map((_, index) => podOf(`p${index}`));
        const known = Object.fromEntries(uses.flatMap((use, index) => (use === null ? [] : [[`p${index}`, use]])));
        const values = Object.values(known);
        fc.pre(values.length > 0);
        const found = replicasForUtilization(factsOf(pods), metricsOf(known), { resource: 'cpu', percent });
        assert.ok(typeof found !== 'string');
        const used = Math.floor(values.reduce((sum, use) => sum + use, 0) / (values.length * 10));
        assert.equal(found.percent, used);
        // This assumes that all pods are like those with known usage.
        const like = Math.ceil((used / percent) * pods.length);
        if (used > percent) assert.ok(found.replicas >= pods.length && found.replicas <= Math.max(like, pods.length));
        else assert.ok(found.replicas <= pods.length && found.replicas >= Math.min(like, pods.length));
      },
    ),
  ));

it('a ratio at the limit of the tolerance changes nothing', () => {
  const facts = factsOf(threePods);
  const share = (milliValue: bigint): number =>
    replicasForShare(4, { up: 0.25, down: 0.25 }, milliValue, 1_000n).replicas;
  assert.deepEqual([share(5_000n), share(5_001n), share(3_000n), share(2_999n)], [4, 6, 4, 3]);
  assert.equal(replicas(replicasForValue({ ...facts, tolerances: { up: 0, down: 0 } }, 1_000n, 1_000n)), 3);
});

it('a share is rounded up; without pods, or on overflow, the whole value is used', () => {
  const shareOf = (milliValue: bigint, pods: number): bigint =>
    replicasForShare(pods, { up: 0.1, down: 0.1 }, milliValue, 1_000n).milliValue;
  assert.deepEqual([shareOf(9_000n, 3), shareOf(9_001n, 3), shareOf(0n, 3)], [3_000n, 3_001n, 0n]);
  assert.deepEqual([shareOf(-10_000n, 3), shareOf(5_000n, 0)], [-3_333n, 5_000n]);
  assert.equal(shareOf(2n ** 63n - 1n, 3), 2n ** 63n - 1n);
  assert.deepEqual([sumOf([]), sumOf([1n, 2n]), sumOf([2n ** 63n - 2n])], [0n, 3n, 2n ** 63n - 2n]);
});

describe('an average with missing values', () => {
  const average = (
    values: Readonly<Record<string, number>>,
    pods: readonly Pod[],
    milliValue = 1_000n,
  ): number | string => replicas(replicasForAverage(factsOf(pods), metricsOf(values), { resource: 'cpu', milliValue }));
  const waiting = (name: string): Pod => podOf(name, { phase: 'Pending', ready: false });

  it('counts the pods as idle when scaling up', () => {
    assert.equal(average({ a: 4_000 }, threePods.slice(0, 2)), 4);
    assert.equal(average({ a: 4_000 }, [podOf('a'), waiting('b')]), 4);
    assert.equal(average({ a: 4_000 }, [podOf('a'), waiting('b'), podOf('c')]), 4);
  });

  it('counts the pods as on target when scaling down, and ignores pending ones', () => {
    assert.equal(average({ a: 200 }, threePods.slice(0, 2)), 2);
    assert.equal(average({ a: 200 }, [podOf('a'), waiting('b')]), 1);
    assert.equal(average({ a: 0, b: 0 }, [podOf('a'), podOf('b'), waiting('c')]), 0);
  });

  it('changes nothing if missing values would reverse the direction, or bring it within the tolerance', () => {
    assert.equal(average({ a: 1_500 }, threePods), 3);
    assert.equal(average({ a: 2_000 }, threePods.slice(0, 2)), 2);
    assert.equal(average({ a: 2_000 }, [podOf('a'), waiting('b')]), 2);
    assert.equal(average({ a: 1_000 }, threePods), 3);
    assert.equal(average({ a: 1_000 }, [podOf('a'), waiting('b')]), 2);
  });

  it('counts the pods even if the current number differs from the desired one', () => {
    const target = { resource: 'cpu', milliValue: 1_000n };
    const known = metricsOf({ a: 1_500 });
    assert.equal(replicas(replicasForAverage(factsOf([podOf('a'), waiting('b')], 3), known, target)), 3);
    assert.equal(replicas(replicasForAverage(factsOf([podOf('a')], 3), known, target)), 2);
    assert.equal(replicas(replicasForAverage(factsOf(threePods, 1), known, target)), 1);
  });

  it('never adds pods when scaling down, nor removes any when scaling up', () => {
    const facts = (currentReplicas: number): ReplicaFacts => factsOf(threePods, currentReplicas);
    const target = { resource: 'cpu', milliValue: 1_000n };
    assert.equal(replicas(replicasForAverage(facts(1), metricsOf({ a: 100, b: 100 }), target)), 1);
    assert.equal(replicas(replicasForAverage(facts(9), metricsOf({ a: 4_000, b: 4_000 }), target)), 9);
  });
});

describe('a utilization with missing values', () => {
  it('counts the pods as using their whole request, or the target if that is more, when scaling down', () => {
    const down = (percent: number, value: number): number | string =>
      replicas(
        replicasForUtilization(factsOf(threePods), metricsOf({ a: value, b: value }), { resource: 'cpu', percent }),
      );
    assert.equal(down(80, 100), 2);
    assert.equal(down(200, 100), 2);
    assert.equal(down(40, 100), 3);
    assert.equal(down(30, 100), 3);
  });

  it('is an error if only other pods have metrics, or nothing is requested', () => {
    const none = 'no metrics returned matched known pods';
    assert.equal(replicasForUtilization(factsOf(threePods), metricsOf({ x: 1 }), cpu), none);
    assert.equal(replicasForUtilization(factsOf([podOf('a', { request: '0' })]), metricsOf({ a: 1 }), cpu), none);
  });
});

it('a pod without metrics does not fail an average, but no metrics at all do', () => {
  const target = { resource: 'cpu', milliValue: 1_000n };
  assert.equal(
    replicasForAverage(factsOf(threePods), metricsOf({}), target),
    'did not receive metrics for targeted pods (pods might be unready)',
  );
  assert.equal(
    replicasForAverage(factsOf([]), metricsOf({}), target),
    'no pods returned by selector while calculating replica count',
  );
});
