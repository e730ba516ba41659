import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../api/core/node.ts';
import { evictionsPerSecond, unknownConditions, zoneKey, zoneState } from './node-health.ts';

const NOW = '2026-01-01T01:00:00Z';
const CREATED = '2026-01-01T00:00:00Z';
const bare: Node = { metadata: { name: 'n1', namespace: '', uid: 'n1', creationTimestamp: CREATED } };

describe('the conditions of a node that does not report', () => {
  it('become Unknown, except those that its kubelet does not report', () => {
    const heartbeat = { lastHeartbeatTime: CREATED, lastTransitionTime: CREATED };
    const network = { type: 'NetworkUnavailable', status: 'False' as const, ...heartbeat };
    const already = { type: 'DiskPressure', status: 'Unknown' as const, reason: 'Own', ...heartbeat };
    const ready = { type: 'Ready', status: 'True' as const, reason: 'KubeletReady', message: 'fine', ...heartbeat };
    const conditions = unknownConditions({ ...bare, status: { conditions: [network, already, ready] } }, NOW);
    assert.deepEqual(conditions.slice(0, 3), [
      network,
      already,
      {
        ...{
          type: 'Ready',
          status: 'Unknown',
          reason: 'NodeStatusUnknown',
          message: 'Kubelet stopped posting node status.',
        },
        ...{ lastHeartbeatTime: CREATED, lastTransitionTime: NOW },
      },
    ]);
    assert.deepEqual(
      conditions.slice(3).map(({ type }) => type),
      ['MemoryPressure', 'PIDPressure'],
    );
  });

  it('are all Unknown if it never reported any', () => {
    const conditions = unknownConditions(bare, NOW);
    assert.deepEqual(
      conditions.map(({ type }) => type),
      ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'],
    );
    for (const { type: _, ...rest } of conditions)
      assert.deepEqual(rest, {
        ...{ status: 'Unknown', reason: 'NodeStatusNeverUpdated', message: 'Kubelet never posted node status.' },
        ...{ lastHeartbeatTime: CREATED, lastTransitionTime: NOW },
      });
    const { creationTimestamp: _, ...metadata } = bare.metadata;
    assert.equal(unknownConditions({ metadata }, NOW)[0]?.lastHeartbeatTime, NOW);
  });
});

describe('a zone', () => {
  // Upstream's defaults: --unhealthy-zone-threshold 0.55, --large-cluster-size-threshold 50, --node-eviction-rate 0.1,
  // --secondary-node-eviction-rate 0.01.
  for (const [ready, notReady, expected] of [
    [0, 0, 'normal'],
    [5, 0, 'normal'],
    [0, 1, 'fullDisruption'],
    [0, 9, 'fullDisruption'],
    [1, 2, 'normal'],
    [1, 3, 'partialDisruption'],
    [9, 11, 'partialDisruption'],
    [10, 11, 'normal'],
  ] as const)
    it(`with ${ready} nodes ready and ${notReady} not is ${expected}`, () =>
      assert.equal(zoneState(ready, notReady), expected));

  it('evicts one node in ten seconds; if much of it is down, one in a hundred seconds, or none in a small zone', () => {
    assert.equal(evictionsPerSecond('normal', 10), 0.1);
    assert.equal(evictionsPerSecond('fullDisruption', 100), 0.1);
    assert.equal(evictionsPerSecond('partialDisruption', 51), 0.01);
    assert.equal(evictionsPerSecond('partialDisruption', 50), 0);
  });

  it('is named after region and zone', () => {
    const labels = { 'topology.kubernetes.io/region': 'r', 'topology.kubernetes.io/zone': 'z' };
    assert.equal(zoneKey({ ...bare, metadata: { ...bare.metadata, labels } }), 'r:z');
    assert.equal(zoneKey(bare), ':');
  });
});
