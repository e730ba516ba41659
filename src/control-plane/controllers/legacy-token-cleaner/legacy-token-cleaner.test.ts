import assert from 'node:assert/strict';
import { it } from 'node:test';
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

function setUp(trackedDays: number): ControllerWorld {
  const world = new ControllerWorld({
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

it('does nothing until use has been recorded for long enough', async () => {
  const world = setUp(30);
  await world.clock.settle();
  assert.deepEqual(world.api.writes, []);
  await world.stop();
});
