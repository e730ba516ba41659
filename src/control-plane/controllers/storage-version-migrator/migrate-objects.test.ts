import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import { configMaps } from '../../../api/client/resource-types.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { migrateObjects } from './migrate-objects.ts';

it('a migration of many objects lets others have turns of the event loop', async () => {
  const client = new FakeApiClient({ clock: new FakeClock() });
  const count = 2_000;
  for (let index = 0; index < count; index++)
    client.seed(configMaps, { metadata: { namespace: 'shop', name: `map-${index}`, uid: `u${index}` } });
  let turns = 0;
  let isOver = false;
  const turn = (): void => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  const kind = { listed: configMaps, served: configMaps };
  assert.equal(await migrateObjects(client, kind, String(Number.MAX_SAFE_INTEGER), () => true), true);
  isOver = true;
  assert.equal(client.writes.length, count);
  assert.ok(turns >= count / 20, `${turns} turns`);
});
