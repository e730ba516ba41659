import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { expiryContract } from './expiry-contract.ts';
import { readContract } from './read-contract.ts';
import type { StorageFixture, StorageHarness } from './storage-fixture.ts';
import { watchContract } from './watch-contract.ts';
import { WatchLog } from './watch-log.ts';
import { writeContract } from './write-contract.ts';

/**
 * The contract of stores. `start` gives each test its own fixture. `propertyRuns` is the number of runs of each
 * property.
 */
export function storageContract(name: string, start: () => Promise<StorageHarness>, propertyRuns = 50): void {
  describe(`${name} as a store`, () => {
    const fixture = {} as StorageFixture;
    const logs: WatchLog[] = [];
    beforeEach(async () => {
      const harness = await start();
      Object.assign(fixture, {
        harness,
        storage: harness.storage,
        key: (key: string) => harness.prefix + key,
        watch: (after: number, prefix = harness.prefix) => {
          const log = new WatchLog(fixture.storage, prefix, after);
          logs.push(log);
          return log;
        },
      });
    });
    afterEach(async () => {
      for (const log of logs.splice(0)) log.close();
      await fixture.harness.stop();
    });
    writeContract(fixture);
    readContract(fixture);
    watchContract(fixture);
    expiryContract(fixture);
    laws(fixture, propertyRuns);
  });
}

type Command = { readonly op: 'put' | 'delete' | 'stalePut'; readonly name: string; readonly value: string };

function laws(fixture: StorageFixture, runs: number): void {
  const command: fc.Arbitrary<Command> = fc.record({
    op: fc.constantFrom('put', 'put', 'delete', 'stalePut'),
    name: fc.constantFrom('a', 'b', 'c/1', 'c/2'),
    value: fc.string({ maxLength: 5 }),
  });
  it('lists every revision and replays every watch exactly as a map with a history would', async () => {
    const { storage, key } = fixture;
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(command, { maxLength: 25 }), fc.nat(), async (commands, cut) => {
        const own = key(`law${run++}/`);
        const from = await storage.revision();
        const states: { revision: number; pairs: [string, string][] }[] = [{ revision: from, pairs: [] }];
        const model = new Map<string, { value: string; revision: number }>();
        for (const { op, name, value } of commands) {
          const stands = model.get(name)?.revision ?? 0;
          const expected = op === 'stalePut' ? stands + 1 : stands;
          const result =
            op === 'delete'
              ? await storage.delete(own + name, expected)
              : await storage.put(own + name, value, { expected });
          assert.equal(result.outcome, op === 'stalePut' || (op === 'delete' && stands === 0) ? 'conflict' : 'done');
          if (result.outcome === 'conflict') continue;
          if (op === 'delete') model.delete(name);
          else model.set(name, { value, revision: result.revision });
          states.push({ revision: result.revision, pairs: sorted([...model].map(([k, v]) => [k, v.value])) });
        }
        for (const { revision, pairs } of states)
          assert.deepEqual(
            (await storage.list(own, { revision })).items.map((item) => [item.key.slice(own.length), item.value]),
            pairs,
          );
        const begin = states[cut % states.length];
        const log = new WatchLog(storage, own, begin?.revision ?? 0);
        await log.reached(states.at(-1)?.revision ?? 0);
        log.close();
        const replayed = new Map(begin?.pairs);
        for (const { type, key: at, value } of log.events) {
          if (type === 'put') replayed.set(at.slice(own.length), value);
          else replayed.delete(at.slice(own.length));
        }
        assert.deepEqual(sorted([...replayed]), states.at(-1)?.pairs);
      }),
      { numRuns: runs },
    );
  });
}

function sorted(pairs: readonly (readonly [string, string])[]): [string, string][] {
  return pairs.map(([key, value]): [string, string] => [key, value]).sort(([a], [b]) => (a < b ? -1 : 1));
}
