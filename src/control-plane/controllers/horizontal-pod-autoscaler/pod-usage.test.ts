import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { countReady, groupPods, requestsOf } from './pod-usage.ts';

const NOW_MS = Date.parse('2026-01-01T12:00:00Z');
const MINUTE_MS = 60_000;
const at = (minutesAgo: number): string => new Date(NOW_MS - minutesAgo * MINUTE_MS).toISOString();
const settings = { cpuInitializationMs: 5 * MINUTE_MS, initialReadinessMs: MINUTE_MS };

const pod = (name: string, changes: Record<string, unknown> = {}): Pod =>
  buildPod({
    'metadata.name': name,
    'status.phase': 'Running',
    'status.startTime': at(60),
    'status.conditions': [{ type: 'Ready', status: 'True', lastTransitionTime: at(59) }],
    ...changes,
  });
const ready = (status: 'True' | 'False', sinceMinutes: number): Record<string, unknown> => ({
  'status.conditions': [{ type: 'Ready', status, lastTransitionTime: at(sinceMinutes) }],
});

/** Formats the groups as `1 ready`, `unready b`, `missing c`, and whose metrics count. */
function grouped(pods: readonly Pod[], measured: readonly string[], resource = 'cpu', measuredMinutesAgo = 0): string {
  const metrics = new Map(
    measured.map((name) => [
      name,
      { milliValue: 1n, atMs: NOW_MS - measuredMinutesAgo * MINUTE_MS, windowMs: MINUTE_MS },
    ]),
  );
  const groups = groupPods(pods, metrics, { resource, settings, nowMs: NOW_MS });
  return [
    `${groups.ready} ready`,
    ...(groups.unready.size === 0 ? [] : [`unready ${[...groups.unready].join(' ')}`]),
    ...(groups.missing.size === 0 ? [] : [`missing ${[...groups.missing].join(' ')}`]),
    `metrics ${[...groups.metrics.keys()].join(' ')}`,
  ].join(', ');
}

describe('pods and their metrics', () => {
  it('a running pod with metrics counts', () => {
    assert.equal(grouped([pod('a'), pod('b')], ['a']), '1 ready, missing b, metrics a');
    assert.equal(grouped([pod('a')], ['a', 'x']), '1 ready, metrics a x');
  });

  it('metrics of a pod that failed or is being deleted do not count', () => {
    assert.equal(grouped([pod('a', { 'status.phase': 'Failed' }), pod('b')], ['a', 'b']), '1 ready, metrics b');
    assert.equal(grouped([pod('a', { 'metadata.deletionTimestamp': at(0) })], ['a']), '0 ready, metrics ');
  });

  it('a pending pod counts as unready', () => {
    assert.equal(grouped([pod('a', { 'status.phase': 'Pending' })], ['a'], 'memory'), '0 ready, unready a, metrics ');
    assert.equal(grouped([pod('a', { 'status.phase': 'Pending' })], []), '0 ready, unready a, metrics ');
  });

  it('a pod without a status counts as missing', () => {
    assert.equal(grouped([pod('a', { status: undefined })], []), '0 ready, missing a, metrics ');
    assert.equal(grouped([pod('a', { status: undefined })], ['a']), '0 ready, unready a, metrics ');
    assert.equal(grouped([pod('a', { status: undefined })], ['a'], 'memory'), '1 ready, metrics a');
  });
});

describe('the CPU of a pod', () => {
  const counts = (changes: Record<string, unknown>, measuredMinutesAgo = 0): boolean =>
    grouped([pod('a', changes)], ['a'], 'cpu', measuredMinutesAgo) === '1 ready, metrics a';

  it('counts in its first minutes only if it was ready for the whole measured interval', () => {
    const started = { 'status.startTime': at(4) };
    assert.equal(counts({ ...started, ...ready('True', 1) }), true);
    assert.equal(counts({ ...started, ...ready('True', 0.9) }), false);
    assert.equal(counts({ ...started, ...ready('True', 2) }, 1), true);
    assert.equal(counts({ ...started, ...ready('True', 2) }, 1.1), false);
    assert.equal(counts({ ...started, ...ready('False', 3) }), false);
  });

  it('counts later, unless the pod was never ready', () => {
    assert.equal(counts({ 'status.startTime': at(5), ...ready('True', 0) }), true);
    assert.equal(counts(ready('False', 59)), true);
    assert.equal(counts(ready('False', 59.5)), false);
    assert.equal(counts(ready('False', 1)), true);
  });

  it('does not count if the pod has no start time or no ready condition', () => {
    assert.equal(counts({ 'status.startTime': undefined }), false);
    assert.equal(counts({ 'status.conditions': [] }), false);
    const undated = { 'status.conditions': [{ type: 'Ready', status: 'True' }] };
    assert.equal(counts({ ...undated, 'status.startTime': at(4) }), true);
    assert.equal(counts({ 'status.conditions': [{ type: 'Ready', status: 'False' }] }), false);
  });
});

it('pods count as ready when they run and are ready', () => {
  const pods = [
    pod('a'),
    pod('b', ready('False', 1)),
    pod('c', { 'status.phase': 'Pending' }),
    pod('d', { status: undefined }),
  ];
  assert.equal(countReady(pods), 1);
});

describe('the requests of pods', () => {
  const cpu = (amount: string): object => ({ requests: { cpu: amount } });
  const containers = (...amounts: (string | undefined)[]): object[] =>
    amounts.map((amount, index) => ({
      name: `c${index}`,
      image: 'i',
      ...(amount !== undefined && { resources: cpu(amount) }),
    }));
  const requests = (changes: Record<string, unknown>, container?: string): unknown => {
    const found = requestsOf([pod('a', changes)], 'cpu', container);
    return typeof found === 'string' ? found : found.get('a');
  };

  it('the request of a pod is the sum of its containers and sidecars', () => {
    assert.equal(requests({ 'spec.containers': containers('250m', '1') }), 1_250n);
    const sidecar = { name: 's', image: 'i', restartPolicy: 'Always', resources: cpu('100m') };
    const init = { name: 'i', image: 'i', resources: cpu('3') };
    assert.equal(requests({ 'spec.containers': containers('250m'), 'spec.initContainers': [init, sidecar] }), 350n);
  });

  it('the request of a pod is that of one container for a container metric', () => {
    const both = { 'spec.containers': containers('250m', '1') };
    assert.equal(requests(both, 'c0'), 250n);
    assert.equal(requests(both, 'c1'), 1_000n);
    assert.equal(requests(both, 'c2'), 'container c2 not found in Pod a');
    assert.equal(requests({ 'spec.containers': containers(undefined, '1') }, 'c1'), 1_000n);
  });

  it('the request of a pod is missing where one container has none', () => {
    assert.equal(
      requests({ 'spec.containers': containers('1', undefined) }),
      'missing request for cpu in container c1 of Pod a',
    );
    assert.equal(
      requests({ 'spec.containers': containers(undefined) }, 'c0'),
      'missing request for cpu in container c0 of Pod a',
    );
  });

  it('the request of a pod is its pod-level request if there is one', () => {
    const whole = { 'spec.containers': containers('100m'), 'spec.resources': cpu('2') };
    assert.equal(requests(whole), 2_000n);
    assert.equal(requests(whole, 'c0'), 100n);
    const memory = { 'spec.containers': containers(undefined), 'spec.resources': { requests: { memory: '1Gi' } } };
    assert.equal(requests(memory), 'missing pod-level request for cpu in Pod a');
    assert.equal(requests({ 'spec.containers': containers('100m'), 'spec.resources': {} }), 100n);
  });
});
