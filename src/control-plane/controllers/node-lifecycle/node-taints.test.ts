import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node, NodeCondition, Taint } from '../../../api/core/node.ts';
import { evictionTaint, readyOf, withEvictionTaint, withScheduleTaints } from './node-taints.ts';

const NOW = '2026-01-01T01:00:00Z';
type Conditions = Readonly<Record<string, NodeCondition['status']>>;

const taint = (key: string, effect: Taint['effect']): Taint => ({ key: `node.kubernetes.io/${key}`, effect });
const node = (
  conditions: Conditions,
  { taints = [], cordoned }: { taints?: Taint[]; cordoned?: boolean } = {},
): Node => ({
  metadata: { name: 'n1', namespace: '', uid: 'n1' },
  spec: { taints, ...(cordoned !== undefined && { unschedulable: cordoned }) },
  status: { conditions: Object.entries(conditions).map(([type, status]) => ({ type, status })) },
});
const bare: Node = { metadata: { name: 'n1', namespace: '', uid: 'n1' } };
const shown = (taints: readonly Taint[]): string =>
  taints.map(({ key, effect }) => `${key.replace('node.kubernetes.io/', '')}:${effect}`).join(' ');

describe('the NoSchedule taints of a node', () => {
  // Upstream documents these taints in Scheduling, "Taint Nodes by Condition".
  for (const [condition, status, key] of [
    ['Ready', 'False', 'not-ready'],
    ['Ready', 'Unknown', 'unreachable'],
    ['MemoryPressure', 'True', 'memory-pressure'],
    ['DiskPressure', 'True', 'disk-pressure'],
    ['PIDPressure', 'True', 'pid-pressure'],
    ['NetworkUnavailable', 'True', 'network-unavailable'],
  ] as const)
    it(`include ${key} if ${condition} is ${status}`, () => {
      assert.deepEqual(withScheduleTaints([], node({ [condition]: status }), NOW), [
        { ...taint(key, 'NoSchedule'), timeAdded: NOW },
      ]);
    });

  it('are empty for a healthy node', () => {
    const well = {
      Ready: 'True',
      MemoryPressure: 'False',
      DiskPressure: 'Unknown',
      NetworkUnavailable: 'False',
      toString: 'True',
    } as const;
    assert.deepEqual(withScheduleTaints([], node(well), NOW), []);
    assert.deepEqual(withScheduleTaints([], bare, NOW), []);
  });

  it('follow the cordon', () => {
    assert.equal(shown(withScheduleTaints([], node({}, { cordoned: true }), NOW)), 'unschedulable:NoSchedule');
    assert.equal(
      shown(withScheduleTaints([taint('unschedulable', 'NoSchedule')], node({}, { cordoned: false }), NOW)),
      '',
    );
  });

  it('are removed with their conditions, and other taints stay', () => {
    const others = [taint('own', 'NoSchedule'), taint('not-ready', 'NoExecute')];
    const before = [...others, taint('not-ready', 'NoSchedule'), taint('disk-pressure', 'NoSchedule')];
    assert.equal(
      shown(withScheduleTaints(before, node({ Ready: 'True', DiskPressure: 'True' }), NOW)),
      shown([...others, taint('disk-pressure', 'NoSchedule')]),
    );
  });

  it('are the same list if nothing changes', () => {
    const before = [taint('not-ready', 'NoSchedule')];
    assert.equal(withScheduleTaints(before, node({ Ready: 'False' }), NOW), before);
    assert.equal(shown(withScheduleTaints(before, node({ Ready: 'Unknown' }), NOW)), 'unreachable:NoSchedule');
    const onlyEvicts = [taint('not-ready', 'NoExecute')];
    assert.equal(
      shown(withScheduleTaints(onlyEvicts, node({ Ready: 'False' }), NOW)),
      'not-ready:NoExecute not-ready:NoSchedule',
    );
  });
});

describe('the NoExecute taint of a node', () => {
  const wanted = (ready: NodeCondition['status'] | undefined, ...taints: Taint[]): string => {
    const found = evictionTaint(node(ready === undefined ? {} : { Ready: ready }, { taints }));
    return found.kind === 'none' ? 'none' : `${found.kind} ${found.key.replace('node.kubernetes.io/', '')}`;
  };

  it('is added once to a node that is not ready or unknown', () => {
    assert.equal(wanted('True'), 'none');
    assert.equal(wanted(undefined), 'none');
    assert.equal(wanted('False'), 'add not-ready');
    assert.equal(wanted('Unknown'), 'add unreachable');
    assert.equal(wanted('False', taint('not-ready', 'NoExecute')), 'none');
    assert.equal(wanted('False', taint('not-ready', 'NoSchedule')), 'add not-ready');
    assert.deepEqual(evictionTaint(bare), { kind: 'none' });
    const unschedulable = { ...node({ Ready: 'False' }), spec: {} };
    assert.equal(evictionTaint(unschedulable).kind, 'add');
  });

  it('replaces the other one', () => {
    assert.equal(wanted('Unknown', taint('not-ready', 'NoExecute')), 'swap unreachable');
    assert.equal(wanted('False', taint('unreachable', 'NoExecute')), 'swap not-ready');
    assert.equal(wanted('False', taint('unreachable', 'NoSchedule')), 'add not-ready');
  });

  it('is the only one of the two, and keeps its time', () => {
    const before = [taint('not-ready', 'NoExecute'), taint('own', 'NoExecute'), taint('unreachable', 'NoSchedule')];
    const key = 'node.kubernetes.io/unreachable';
    assert.deepEqual(withEvictionTaint(before, key, NOW), [
      before[1],
      before[2],
      { key, effect: 'NoExecute', timeAdded: NOW },
    ]);
    const old = { key, effect: 'NoExecute' as const, timeAdded: '2026-01-01T00:00:00Z' };
    assert.deepEqual(withEvictionTaint([old, ...before], key, NOW), [before[1], before[2], old]);
  });

  it('is removed, and the list is unchanged if there is none', () => {
    const others = [taint('own', 'NoExecute'), taint('not-ready', 'NoSchedule')];
    assert.equal(withEvictionTaint(others, undefined, NOW), others);
    assert.deepEqual(withEvictionTaint([...others, taint('unreachable', 'NoExecute')], undefined, NOW), others);
    assert.deepEqual(withEvictionTaint([taint('not-ready', 'NoExecute')], undefined, NOW), []);
  });
});

it('readiness of a node is read from its Ready condition', () => {
  assert.equal(readyOf(node({ DiskPressure: 'True', Ready: 'False' }))?.status, 'False');
  assert.equal(readyOf(bare), undefined);
  assert.equal(readyOf({ ...bare, status: {} }), undefined);
});
