import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { recordingLog } from '../../base/testing/recording-log.ts';
import { SqliteStorage } from '../storage/sqlite/sqlite-storage.ts';
import { WatchCache } from './cache/watch-cache.ts';
import { DefinitionIndex, storageKey } from './definition-index.ts';
import { Homes } from './homes.ts';
import { plainKinds } from './testing/registry-fixture.ts';

test('kinds are found in their stores, counted once, and read fresh in every store', async (t) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'homes-'));
  const clock = new FakeClock();
  const parts = { clock, log: recordingLog() };
  const open = (name: string): SqliteStorage => new SqliteStorage({ file: path.join(folder, name), ...parts });
  const [main, other] = [open('main.db'), open('other.db')];
  const [widgets, gadgets] = plainKinds;
  assert.ok(widgets !== undefined && gadgets !== undefined);
  const definitions = new DefinitionIndex(plainKinds);
  const homes = new Homes(
    definitions,
    { storage: main, cache: new WatchCache({ ...parts, storage: main, definitions }) },
    [
      {
        kinds: [gadgets],
        storage: other,
        cache: new WatchCache({ ...parts, storage: other, definitions: new DefinitionIndex([gadgets]) }),
      },
    ],
  );
  t.after(async () => {
    homes.stop();
    await Promise.all([main.close(), other.close()]);
    rmSync(folder, { recursive: true });
  });
  await Promise.all(homes.all.map(({ cache }) => cache.start()));
  const gadget = JSON.stringify({
    kind: 'Gadget',
    apiVersion: 'test.io/v1',
    metadata: { name: 'a', uid: 'u' },
    spec: {},
  });
  const key = storageKey(gadgets, { namespace: '', name: 'a' });
  // This object was left in the main store before the flag was set.
  await Promise.all([other.put(key, gadget, { expected: 0 }), main.put(key, gadget, { expected: 0 })]);
  await homes.fresh();
  assert.deepEqual([homes.of(gadgets).storage, homes.of(widgets).storage], [other, main]);
  assert.deepEqual(
    [...homes.counts()].map(([{ type }, count]) => `${type.kind} ${count}`),
    ['Widget 0', 'Gadget 1'],
  );
  assert.equal(homes.find(gadgets)?.objects.get('a')?.object.metadata.name, 'a');
});
