import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { isConditionTrue } from '../../../api/conditions.ts';
import type { StorageVersionMigration } from '../../../api/storagemigration/storage-version-migration.ts';
import { nextMigration, planMigration } from './plan-migration.ts';

type State = 'new' | 'running' | 'marked' | 'over' | 'closed';
const stateArbitrary = fc.constantFrom<State>('new', 'running', 'marked', 'over', 'closed');

const condition = (type: string, status: 'True' | 'False') => ({
  type,
  status,
  reason: 'Any',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const statuses: Readonly<Record<State, StorageVersionMigration['status']>> = {
  new: {},
  running: { conditions: [condition('Running', 'True')] },
  marked: { conditions: [condition('Running', 'True')], resourceVersion: '7' },
  over: { conditions: [condition('Running', 'True'), condition('Failed', 'True')], resourceVersion: '7' },
  closed: { conditions: [condition('Running', 'False'), condition('Succeeded', 'True')], resourceVersion: '7' },
};
const migration = (name: string, second: number, resource: string, state: State): StorageVersionMigration => ({
  metadata: { name, namespace: '', uid: name, creationTimestamp: `2026-01-01T00:00:0${second}Z` },
  spec: { resource: { group: 'a.io', resource } },
  ...(statuses[state] !== undefined && { status: statuses[state] }),
});
const after = { begin: 'running', mark: 'marked', migrate: 'over', close: 'closed' } as const;

it('every migration ends, one migration of a resource runs at a time, and the oldest starts first', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(3), fc.constantFrom('pens', 'pots'), stateArbitrary), { minLength: 1, maxLength: 6 }),
      fc.infiniteStream(fc.nat(100)),
      (made, order) => {
        const world = made.map(([second, resource, state], index) => migration(`m${index}`, second, resource, state));
        const ranAtOnce = (resource: string): number =>
          world.filter((each) => each.spec.resource.resource === resource && /running|marked/.test(stateOf(each)))
            .length;
        const limits = { pens: Math.max(1, ranAtOnce('pens')), pots: Math.max(1, ranAtOnce('pots')) };
        for (let turn = 0; turn < 200; turn++) {
          const open = world.filter((each) => !['nothing', 'wait'].includes(planMigration(each, world)));
          if (open.length === 0) break;
          const chosen = open[(order.next().value ?? 0) % open.length];
          assert.ok(chosen !== undefined);
          const step = planMigration(chosen, world) as keyof typeof after;
          if (step === 'begin')
            for (const other of world)
              if (other.spec.resource.resource === chosen.spec.resource.resource && stateOf(other) === 'new')
                assert.ok((chosen.metadata.creationTimestamp ?? '') <= (other.metadata.creationTimestamp ?? ''));
          world[world.indexOf(chosen)] = { ...chosen, status: statuses[after[step]] ?? {} };
          for (const resource of ['pens', 'pots'] as const) assert.ok(ranAtOnce(resource) <= limits[resource]);
        }
        assert.ok(world.every((each) => stateOf(each) === 'closed'));
      },
    ),
  );
});

const stateOf = ({ status }: StorageVersionMigration): State => {
  const isRunning = isConditionTrue(status?.conditions, 'Running');
  const isOver = isConditionTrue(status?.conditions, 'Succeeded') || isConditionTrue(status?.conditions, 'Failed');
  if (isOver) return isRunning ? 'over' : 'closed';
  if (!isRunning) return 'new';
  return status?.resourceVersion === undefined ? 'running' : 'marked';
};

it('the next migration is the oldest one of the same resource that has not started', () => {
  const all = [
    migration('a', 5, 'pens', 'over'),
    migration('b', 4, 'pens', 'new'),
    migration('c', 3, 'pens', 'new'),
    migration('d', 1, 'pots', 'new'),
    migration('e', 1, 'pens', 'closed'),
  ];
  assert.equal(nextMigration(migration('a', 5, 'pens', 'over'), all)?.metadata.name, 'c');
  assert.equal(nextMigration(migration('x', 5, 'cups', 'over'), all), undefined);
});
