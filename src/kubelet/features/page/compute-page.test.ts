import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import { computePageState } from './compute-page-state.ts';
import type { PageFacts } from './compute-page-state.ts';
import { computePageUsage } from './compute-page-usage.ts';
import type { UsageFacts } from './compute-page-usage.ts';
import { computeRates } from './compute-rates.ts';
import { computeThresholds } from './compute-thresholds.ts';
import { ModelPage, modelPod } from './testing/model-page.ts';

const NOW_MS = 1_700_000_000_000;

function facts(pods: readonly Pod[], over: Partial<PageFacts> = {}): PageFacts {
  const model = new ModelPage({ pods: 0, nowMs: () => NOW_MS });
  return {
    ...model,
    node: model.node(),
    pods: pods.map((pod) => ({ pod, explanation: model.explain(pod) })),
    problems: [],
    capacities: new Map([['memory.available', 32 * 1024 ** 3]]),
    ...over,
  };
}

describe('the state of the page', () => {
  it('the page has the pods by namespace and name, with requests, limits and what holds them up', () => {
    const { pods } = computePageState(facts([modelPod(7, NOW_MS), modelPod(1, NOW_MS)]));
    assert.deepEqual(
      pods.map(({ status, settled, cpuLimitMillis, memoryRequestBytes, blocker }) => [
        status,
        settled,
        cpuLimitMillis,
        memoryRequestBytes,
        blocker?.cause,
      ]),
      [
        ['Running', true, 250, 96 * 1024 ** 2, undefined],
        ['ImagePullBackOff', false, 350, 96 * 1024 ** 2, 'registry.example.com/metrics:1.7: not found'],
      ],
    );
  });

  it('the page has why a failed pod ended', () => {
    const pod = modelPod(0, NOW_MS);
    const messageOf = (status: object) =>
      computePageState(facts([{ ...pod, status: { ...pod.status, ...status } } as Pod])).pods[0]?.message;
    assert.equal(messageOf({ phase: 'Failed', reason: 'Evicted', message: 'It was low.' }), 'Evicted: It was low.');
    assert.equal(messageOf({ phase: 'Failed', reason: 'NodeLost' }), 'NodeLost');
    assert.equal(messageOf({ phase: 'Running', message: 'x' }), undefined);
    assert.ok((messageOf({ phase: 'Failed', message: 'x'.repeat(100_000) }) ?? '').length < 2000);
  });

  it('cuts texts that others choose', () => {
    const { pods } = computePageState(facts([modelPod(7, NOW_MS, { image: 'x'.repeat(100_000) })]));
    assert.ok(JSON.stringify(pods).length < 10_000);
  });
});

describe('thresholds', () => {
  it('are amounts, by quantity or by share of a known capacity', () => {
    const config = {
      hard: {
        'memory.available': '100Mi',
        'nodefs.available': '10%',
        'pid.available': '5%',
        'imagefs.available': '0%',
      },
      soft: { 'memory.available': '1.5%' },
      softGraceMs: { 'memory.available': 90_000 },
    };
    const capacities = new Map([
      ['memory.available', 1000],
      ['nodefs.available', 500],
      ['imagefs.available', 500],
    ]);
    assert.deepEqual(computeThresholds(config, capacities), [
      { signal: 'memory.available', kind: 'hard', amount: 104_857_600, graceMs: 0 },
      { signal: 'nodefs.available', kind: 'hard', amount: 50, graceMs: 0 },
      { signal: 'memory.available', kind: 'soft', amount: 15, graceMs: 90_000 },
    ]);
  });
});

describe('rates', () => {
  it('are per second, and unknown for a first reading, a short time and a counter that decreased', () => {
    const before = { atMs: 1000, rxBytes: 100, txBytes: 500, readBytes: 0 };
    assert.deepEqual(computeRates(before, { atMs: 3000, rxBytes: 4100, txBytes: 400, readBytes: 0 }), {
      rxBps: 2000,
      txBps: undefined,
      readBps: 0,
      writeBps: undefined,
    });
    assert.deepEqual(computeRates(undefined, before), {});
    assert.deepEqual(computeRates(before, { ...before, atMs: 1100 }), {});
  });
});

describe('the usage of the page', () => {
  const sampling = async (model: ModelPage): Promise<UsageFacts> => ({
    atMs: NOW_MS,
    root: model.stats.look(),
    interfaces: model.interfaces(),
    tasks: { current: 5, limit: Infinity },
    pods: await model.stats.sample(),
    disks: { ...model.disks, layers: new Map([['0-main', { atMs: 0, usedBytes: 7, inodesUsed: 1 }]]) },
  });

  it('the page has rates from the second sampling on, and storage as far as it is known', async () => {
    let nowMs = NOW_MS;
    const model = new ModelPage({ pods: 2, nowMs: () => nowMs });
    const first = computePageUsage(await sampling(model), new Map());
    nowMs += 2000;
    const second = computePageUsage(await sampling(model), first.counters);
    assert.equal(first.usage.node.rxBps, undefined);
    assert.equal(second.usage.node.rxBps, 1e6);
    assert.deepEqual(second.usage.node.tasks, { current: 5 });
    assert.deepEqual(
      second.usage.pods.map(({ diskBytes }) => diskBytes),
      [7, undefined],
    );
  });

  it('sums up the containers of a pod without a cgroup of its own', async () => {
    const model = new ModelPage({ pods: 1, nowMs: () => NOW_MS });
    const facts = await sampling(model);
    const pods = facts.pods.map((pod) => ({
      ...pod,
      group: undefined,
      containers: [...pod.containers, ...pod.containers],
    }));
    const { usage } = computePageUsage({ ...facts, pods }, new Map());
    assert.equal(usage.pods[0]?.memoryBytes, 2 * (usage.pods[0]?.containers[0]?.memoryBytes ?? 0));
  });
});
