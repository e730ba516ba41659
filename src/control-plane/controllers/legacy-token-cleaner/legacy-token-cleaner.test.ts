import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { configMaps, pods, secrets, serviceAccounts } from '../../../api/client/resource-types.ts';
import type { Secret } from '../../../api/core/secret.ts';
import { dayOf, parseDay } from '../../../api/legacy-token.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { formatTime } from '../../../api/time.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createLegacyTokenCleaner } from './legacy-token-cleaner.ts';

const DAY_MS = 86_400_000;
const label = 'kubernetes.io/legacy-token';

it('parses days, and nothing else', () => {
  assert.equal(dayOf(parseDay('2026-02-28') ?? 0), '2026-02-28');
  for (const text of [undefined, '', '2026-02-30', '2026-2-3', 'today', '2026-01-01T00:00:00Z'])
    assert.equal(parseDay(text), undefined);
});

function setUp(trackedDays: number, options: { seed?: number; lagMs?: number } = {}): ControllerWorld {
  const world = new ControllerWorld({
    ...options,
    make: (each) => [createLegacyTokenCleaner({ ...each, cleanUpMs: 30 * DAY_MS })],
  });
  const nowMs = world.clock.nowMs();
  const daysAgo = (days: number): string => dayOf(nowMs - days * DAY_MS);
  const tracker = { namespace: 'kube-system', name: 'kube-apiserver-legacy-service-account-token-tracking', uid: '' };
  world.api.seed(configMaps, { metadata: tracker, data: { since: daysAgo(trackedDays) } });
  const add = (name: string, ageDays: number, labels: Record<string, string> = {}): Secret =>
    world.api.seed(secrets, {
      metadata: {
        namespace: 'default',
        name,
        uid: `uid-${name}`,
        labels,
        annotations: { 'kubernetes.io/service-account.name': 'robot' },
        creationTimestamp: formatTime(nowMs - ageDays * DAY_MS),
      },
      type: 'kubernetes.io/service-account-token',
    });
  add('unused', 90);
  add('young', 10);
  add('used', 90, { [`${label}-last-used`]: daysAgo(30) });
  add('odd', 90, { [`${label}-last-used`]: 'never' });
  add('mounted', 90);
  add('by-hand', 90);
  add('marked', 90, { [`${label}-last-used`]: daysAgo(80), [`${label}-invalid-since`]: daysAgo(31) });
  add('just-marked', 90, { [`${label}-invalid-since`]: daysAgo(29) });
  const named = ['unused', 'young', 'used', 'odd', 'mounted', 'marked', 'just-marked'].map((name) => ({ name }));
  world.api.seed(serviceAccounts, { metadata: { namespace: 'default', name: 'robot', uid: 'r' }, secrets: named });
  const pod = buildPod();
  const volumes = [{ name: 'v', secret: { secretName: 'mounted' } }];
  world.api.seed(pods, { ...pod, spec: { ...pod.spec, volumes } });
  world.start();
  return world;
}

it('marks generated tokens that were not used or mounted, and deletes those that were marked long ago', async () => {
  const world = setUp(90);
  await world.clock.settle();
  const today = dayOf(world.clock.nowMs());
  const marks = Object.fromEntries(
    world.api.all(secrets).map(({ metadata }) => [metadata.name, metadata.labels?.[`${label}-invalid-since`]]),
  );
  assert.deepEqual(
    [marks['unused'], 'marked' in marks, Object.values(marks).filter((mark) => mark === today).length],
    [today, false, 1],
  );
  assert.equal(Object.keys(marks).length, 7);
  await world.clock.advance(31 * DAY_MS);
  assert.equal(world.api.peek(secrets, { namespace: 'default', name: 'unused' }), undefined);
  await world.stop();
});

/** A time in which the cleaner does not run, and its first run after it. */
async function skip(world: ControllerWorld, forMs: number): Promise<void> {
  await world.stop();
  await world.clock.advance(forMs);
  world.start();
  await world.clock.advance(3_000);
}

it('does nothing until use has been recorded for long enough', async () => {
  const world = setUp(30);
  await world.clock.settle();
  assert.deepEqual(world.api.writes, []);
  await world.stop();
});

it('deletes exactly the tokens without use, and only long after marking them, killed at any write', () => {
  const day = fc.record({
    used: fc.subarray(['unused', 'used', 'odd', 'young', 'mounted']),
    unmarked: fc.boolean(),
    writes: fc.integer({ min: 1, max: 3 }),
  });
  return fc.assert(
    fc.asyncProperty(fc.array(day, { minLength: 1, maxLength: 12 }), fc.nat(1_000), async (days, seed) => {
      const world = setUp(90, { seed, lagMs: 700 });
      const today = (): string => dayOf(world.clock.nowMs());
      let before = new Map(world.api.all(secrets).map((each) => [each.metadata.name, each]));
      world.check = () => {
        const found = new Map(world.api.all(secrets).map((each) => [each.metadata.name, each]));
        const longAgo = dayOf(world.clock.nowMs() - 30 * DAY_MS);
        for (const [name, { metadata }] of before) {
          if (found.has(name)) continue;
          const { [`${label}-invalid-since`]: marked = '', [`${label}-last-used`]: used = '' } = metadata.labels ?? {};
          assert.ok(marked !== '' && marked < longAgo && used < longAgo, `${name}: marked ${marked}, used '${used}'`);
        }
        before = found;
      };
      for (const { used, unmarked, writes } of days) {
        world.restartAtWrite(writes);
        for (const { metadata } of world.api.all(secrets)) {
          const { [`${label}-invalid-since`]: marked, ...labels } = metadata.labels ?? {};
          const key = { namespace: 'default', name: metadata.name };
          const put = (next: Record<string, string>): Secret | undefined =>
            world.api.change(secrets, key, (each) => ({ ...each, metadata: { ...each.metadata, labels: next } }));
          // The API server refuses a marked token. An administrator may remove the mark.
          if (marked !== undefined && unmarked) put({ ...labels, [`${label}-last-used`]: today() });
          else if (marked === undefined && used.includes(metadata.name))
            put({ ...labels, [`${label}-last-used`]: today() });
        }
        world.check();
        await skip(world, DAY_MS * (1 + Math.floor(world.random.next() * 10)));
      }
      for (const afterDays of [0, 31, 31]) await skip(world, afterDays * DAY_MS);
      assert.deepEqual(
        world.api
          .all(secrets)
          .map(({ metadata }) => metadata.name)
          .filter((name) => name !== 'odd')
          .sort(),
        ['by-hand', 'mounted'],
      );
      await world.stop();
    }),
    { numRuns: 30 },
  );
});
