import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { computeManagers } from './compute-managers.ts';
import type { ManagersView } from './compute-managers.ts';
import { modelPod } from './testing/model-page.ts';

const pod = modelPod(1, 0, { uid: 'a' });
const topology = {
  nodes: [
    { id: 0, cores: [{ socketId: 0, cpus: [0, 2] }] },
    { id: 1, cores: [{ socketId: 0, cpus: [1, 3] }] },
  ],
} as unknown as NonNullable<ManagersView['cpus']>['topology'];
const none: ManagersView['devices'] = { devicesOf: () => new Map(), healthy: () => new Map() };

describe('the managers on the page', () => {
  it('say of each CPU whether it is shared, reserved, or whose it is', () => {
    const view: ManagersView = {
      cpus: {
        topology,
        sharedPool: () => new Set([2]),
        exclusive: (uid, container) => (`${uid} ${container}` === 'a main' ? new Set([1, 3]) : undefined),
      },
      devices: none,
    };
    assert.deepEqual(
      computeManagers(view, [pod]).cpus?.map(({ cpu, core, numa, use, owner }) => [cpu, core, numa, use, owner?.uid]),
      [
        [0, 0, 0, 'reserved', undefined],
        [2, 0, 0, 'shared', undefined],
        [1, 1, 1, 'exclusive', 'a'],
        [3, 1, 1, 'exclusive', 'a'],
      ],
    );
  });

  it('show no CPUs where every container may use all', () => {
    assert.equal(computeManagers({ cpus: undefined, devices: none }, [pod]).cpus, undefined);
  });

  it('list free devices, those of containers, and those that are held though they are unhealthy', () => {
    const devices: ManagersView['devices'] = {
      devicesOf: () => new Map([['x.io/gpu', { ids: ['1', 'lost'] }]]),
      healthy: () => new Map([['x.io/gpu', [{ id: '0' }, { id: '1' }]]]),
    };
    assert.deepEqual(
      computeManagers({ cpus: undefined, devices }, [pod]).devices?.map(({ id, healthy, owner }) => [
        id,
        healthy,
        owner?.container,
      ]),
      [
        ['0', true, undefined],
        ['1', true, 'main'],
        ['lost', false, 'main'],
      ],
    );
  });
});
