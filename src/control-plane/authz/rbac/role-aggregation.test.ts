import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import { clusterRoles } from '../../../api/client/resource-types.ts';
import type { ClusterRole } from '../../../api/rbac/cluster-role.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { FakeObjectReader } from '../../model/testing/fake-object-reader.ts';
import { computeAggregatedRules } from './aggregate-roles.ts';
import { parseRule } from './policy-rules.ts';
import { createRoleAggregation } from './role-aggregation.ts';

const role = (name: string, labels: Record<string, string>, ...rules: string[]): ClusterRole => ({
  metadata: { name, namespace: '', uid: '', labels },
  rules: rules.map(parseRule),
});
const aggregated: ClusterRole = {
  ...role('all', {}),
  aggregationRule: { clusterRoleSelectors: [{ matchLabels: { x: '1' } }, { matchLabels: { y: '1' } }] },
};

describe('aggregated roles', () => {
  it('get the rules of all selected roles, by selector, then by name, without duplicates', () => {
    const others = [
      role('c', { y: '1' }, 'get core c'),
      role('b', { x: '1' }, 'get core b', 'get core a'),
      role('a', { x: '1', y: '1' }, 'get core a'),
      role('d', {}, 'get core d'),
    ];
    const rules = computeAggregatedRules(aggregated, [aggregated, ...others]) ?? [];
    assert.deepEqual(
      rules.map(({ resources }) => resources),
      [['a'], ['b'], ['c']],
    );
    assert.equal(computeAggregatedRules({ ...aggregated, rules: [...rules] }, others), undefined);
    assert.equal(computeAggregatedRules(role('e', { x: '1' }), others), undefined);
  });

  it('do not get their own rules, even when they select themselves, and keep rules that differ in one part', () => {
    const self = { ...role('self', { x: '1' }, 'get core own'), aggregationRule: aggregated.aggregationRule };
    const others = [
      role('b', { x: '1' }, 'get core a', 'get apps a', 'list core a', 'get core a n', 'get url /a'),
      role('a', { x: '1' }, 'get core z'),
    ];
    const given = computeAggregatedRules(self, [self, ...others]) ?? [];
    assert.deepEqual(
      given,
      ['get core z', 'get core a', 'get apps a', 'list core a', 'get core a n', 'get url /a'].map(parseRule),
    );
  });

  it('that are deleted are skipped, and other failures are retried', async () => {
    const clock = new FakeClock();
    const client = new FakeApiClient({ clock });
    const reader = new FakeObjectReader();
    const gone = { ...aggregated, metadata: { ...aggregated.metadata, name: 'gone' } };
    reader.put(clusterRoles, gone, aggregated, role('a', { x: '1' }, 'get core a'));
    await client.create(clusterRoles, aggregated);
    const loop = createRoleAggregation({ reader, client, clock, random: seededRandom(1), log: recordingLog() });
    const patched = () => client.calls.filter(({ verb }) => verb === 'patch').map(({ key }) => key);
    const heal = client.script(({ key }) =>
      key.endsWith('gone') ? new ApiStatusError('NotFound', 'gone') : new ApiStatusError('InternalError', 'broken'),
    );
    loop.start();
    await clock.settle();
    assert.deepEqual(patched(), ['gone', 'all']);
    heal();
    await clock.advance(60_000);
    assert.ok(patched().length > 2, 'within a minute');
    const tries = patched().length;
    await clock.advance(60_000);
    assert.equal(patched().length, tries, 'not any more after a success');
    await loop.stop();
  });

  it('are written when a selected role changes, by server-side apply', async () => {
    const clock = new FakeClock();
    const client = new FakeApiClient({ clock });
    const reader = new FakeObjectReader();
    reader.put(clusterRoles, aggregated, role('a', { x: '1' }, 'get core a'));
    await client.create(clusterRoles, aggregated);
    const loop = createRoleAggregation({ reader, client, clock, random: seededRandom(1), log: recordingLog() });
    const applied = () =>
      client.calls
        .filter(({ verb }) => verb === 'patch')
        .map(
          ({ body }) =>
            (body as { body?: { rules: unknown[] }; rules?: unknown[] }).rules ??
            (body as { body: { rules: unknown[] } }).body.rules,
        );
    loop.start();
    await clock.settle();
    assert.deepEqual(applied(), [[parseRule('get core a')]]);
    reader.put(clusterRoles, role('b', { y: '1' }, 'list core b'));
    await clock.settle();
    assert.deepEqual(applied()[1], [parseRule('get core a'), parseRule('list core b')]);
    await loop.stop();
    assert.deepEqual([reader.listeners, clock.armedTimers], [0, 0]);
  });
});
