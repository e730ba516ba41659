import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node, NodeCondition } from '../../../api/core/node.ts';
import { changesZoneShares, computeZoneShares } from './zone-shares.ts';

function node(
  zone: string | undefined,
  cpu: string,
  more: { ready?: NodeCondition['status']; labels?: Record<string, string> } = {},
): Node {
  const { ready = 'True', labels = {} } = more;
  return {
    metadata: {
      name: 'n',
      namespace: '',
      uid: 'n',
      labels: { ...labels, ...(zone !== undefined && { 'topology.kubernetes.io/zone': zone }) },
    },
    status: { allocatable: { cpu }, conditions: [{ type: 'Ready', status: ready }] },
  };
}

describe('the shares of zones', () => {
  it('are computed from the CPUs of ready nodes that run pods', () => {
    const shares = computeZoneShares([
      node('a', '2'),
      node('b', '1500m'),
      node('b', '500m'),
      node('c', '64', { ready: 'Unknown' }),
      node(undefined, '64', { labels: { 'node-role.kubernetes.io/control-plane': '' } }),
    ]);
    assert.deepEqual(
      [...(shares ?? [])],
      [
        ['a', 0.5],
        ['b', 0.5],
      ],
    );
  });

  it('are unknown with one zone, and if a ready node has no zone or no CPU', () => {
    for (const nodes of [
      [],
      [node('a', '2'), node('a', '2')],
      [node('a', '2'), node('b', '2'), node(undefined, '2')],
      [node('a', '2'), node('b', '2'), node('c', '0')],
    ])
      assert.equal(computeZoneShares(nodes), undefined);
  });

  it('change only with the zone, the CPUs and the readiness of a node', () => {
    const before = node('a', '2');
    const changed = [node('b', '2'), node('a', '3'), node('a', '2', { ready: 'False' })];
    assert.deepEqual(
      [...changed, node('a', '2000m'), node('a', '2', { labels: { x: 'y' } })].map((after) =>
        changesZoneShares(before, after),
      ),
      [true, true, true, false, false],
    );
  });
});
