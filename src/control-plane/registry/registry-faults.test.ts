import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { seededRandom } from '../../base/random.ts';
import type { Storage } from '../storage/storage.ts';
import { noFaults, FaultyStorage } from './testing/faulty-storage.ts';
import {
  disturb,
  followTruth,
  DisturbedClient,
  DisturbedWatcher,
  keptName,
  onceName,
  prefix,
} from './testing/faulty-run.ts';
import type { Truth } from './testing/faulty-run.ts';
import { startRegistry } from './testing/registry-fixture.ts';
import type { Widget } from './testing/registry-fixture.ts';

/** Runs two servers on one store with delays, lost writes and lost history, with six clients and six watchers. */
async function runWith(seed: number): Promise<void> {
  const random = seededRandom(seed);
  const storages: { inner?: Storage; faulty?: FaultyStorage } = {};
  const first = await startRegistry([], {
    wrap: (inner, clock) => {
      storages.inner = inner;
      return (storages.faulty = new FaultyStorage(inner, clock, random));
    },
  });
  const { inner, faulty } = storages;
  assert.ok(inner !== undefined && faulty !== undefined);
  const second = await first.second();
  const truth = await followTruth(inner);
  await first.create({
    name: keptName,
    metadata: { name: keptName, namespace: '', uid: '', finalizers: ['test.io/kept'] },
    spec: {},
  });

  const fixtures = [first, second];
  const clients = [0, 1, 2, 3, 4, 5].map(
    (id) => new DisturbedClient({ fixture: fixtures[id % 2] ?? first, truth, random, id: String(id + 1) }),
  );
  const watchers = [0, 1, 2, 3, 4, 5].map(
    (id) =>
      new DisturbedWatcher({
        fixture: fixtures[id % 2] ?? first,
        truth,
        ...(id >= 2 && { labelSelector: `even=${String(id < 4)}` }),
      }),
  );

  let isOver = false;
  const working = Promise.all([
    ...clients.map((client) => client.run(40)),
    ...clients.map((client) => client.createOnce()),
  ]).finally(() => (isOver = true));
  const watching = Promise.all(
    watchers.map((watcher) => keepWatching(watcher, () => isOver, { pause: () => first.clock.settle(), random })),
  );
  working.catch(() => undefined);
  watching.catch(() => undefined);
  while (!isOver) await disturb(faulty, inner, { clock: first.clock, random, rounds: 1 });
  await working;
  faulty.faults = noFaults;
  const newest = await inner.revision();
  const isCurrent = (): boolean =>
    watchers.every(({ isOpen }) => isOpen) && fixtures.every(({ cache }) => cache.revision >= newest);
  let isSettled = false;
  const settled = watching.then(async () => {
    while (!isCurrent()) {
      for (const watcher of watchers) await watcher.attach();
      await first.clock.settle();
    }
    isSettled = true;
  });
  settled.catch(() => (isSettled = true));
  while (!isSettled) await first.clock.advance(1000);
  await settled;

  judge(truth, clients);
  for (const watcher of watchers)
    assert.deepEqual(new Map([...watcher.state].sort()), new Map([...watcher.expected()].sort()));
  assert.ok(watchers.some(({ events }) => events > 10));
  truth.stop();
  for (const watcher of watchers) watcher.cut();
  await second.stop();
  await first.stop();
}

async function keepWatching(
  watcher: DisturbedWatcher,
  isOver: () => boolean,
  { pause, random }: { readonly pause: () => Promise<void>; readonly random: { next(): number } },
): Promise<void> {
  while (!isOver()) {
    await watcher.attach();
    for (let turns = Math.floor(random.next() * 40); turns > 0 && !isOver(); turns--) await pause();
    if (random.next() < 0.5) watcher.cut();
  }
}

/** Checks the invariants of the whole run. */
function judge({ writes }: Truth, clients: readonly DisturbedClient[]): void {
  const byRevision = new Map(writes.map((write) => [write.revision, write]));
  for (const { name, uid, revision, size } of clients.flatMap(({ acknowledged }) => acknowledged)) {
    const write = byRevision.get(revision);
    assert.equal(write?.key, prefix + name, `an acknowledged write of ${name} at ${revision} is not there`);
    const { metadata, spec } = JSON.parse(write.value) as Widget;
    assert.deepEqual([metadata.uid, spec.size], [uid, size]);
  }
  const before = new Map<string, Widget>();
  let revision = 0;
  for (const write of writes) {
    assert.ok(write.revision > revision, 'revisions grow');
    revision = write.revision;
    if (write.type === 'delete') {
      assert.notEqual(write.key, prefix + keptName, 'deleted in spite of its finalizer');
      before.delete(write.key);
      continue;
    }
    const object = JSON.parse(write.value) as Widget;
    const old = before.get(write.key);
    if (old !== undefined) {
      assert.equal(object.metadata.uid, old.metadata.uid, 'one object became another without being deleted');
      const grown = (object.metadata.generation ?? 0) - (old.metadata.generation ?? 0);
      const isOtherwise =
        JSON.stringify(object.spec) !== JSON.stringify(old.spec) ||
        object.metadata.deletionTimestamp !== old.metadata.deletionTimestamp;
      assert.equal(grown, isOtherwise ? 1 : 0, 'the generation counts what is wanted');
    } else assert.equal(object.metadata.generation, 1);
    before.set(write.key, object);
  }
  assert.equal(
    writes.filter(({ key }) => key === prefix + onceName).length,
    1,
    'created once, however often it was tried',
  );
}

describe('the registry on a store that is slow, fails and loses its history', () => {
  for (const seed of [1, 2, 3, 4])
    test(`keeps acknowledged writes, reads correct states, and notifies watchers of each change once (seed ${seed})`, () =>
      runWith(seed));
});
