// The child process that storage-kill.test.ts kills: writes through the storage port as fast as possible, and prints
// each acknowledged write.
import { writeSync } from 'node:fs';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { EtcdStorage } from '../../../src/control-plane/storage/etcd/etcd-storage.ts';
import { SqliteStorage } from '../../../src/control-plane/storage/sqlite/sqlite-storage.ts';
import type { Storage } from '../../../src/control-plane/storage/storage.ts';

/** One line of the child's output. `value` is undefined for a deletion. */
export interface Acknowledged {
  readonly key: string;
  readonly revision: number;
  readonly value?: string;
}

const WRITERS = 8;
const KEYS_PER_WRITER = 12;

/** Each writer has its own keys, so after an unacknowledged write the value is either the new or the previous one. */
async function write(storage: Storage, writer: number, seed: number): Promise<void> {
  const random = seededRandom(seed * 100 + writer);
  const standing = new Map<string, number>();
  for (const { key, revision } of (await storage.list(`/registry/w${writer}/`)).items) standing.set(key, revision);
  for (let round = 0; ; round++) {
    const key = `/registry/w${writer}/k${Math.floor(random.next() * KEYS_PER_WRITER)}`;
    const expected = standing.get(key) ?? 0;
    const deletes = expected !== 0 && random.next() < 0.2;
    const value = `${seed}-${round}-`.padEnd(20 + Math.floor(random.next() * 8000), 'x') + '.';
    const result = deletes
      ? await storage.delete(key, expected)
      : await storage.put(key, value, { expected, unhurried: random.next() < 0.1 });
    if (result.outcome !== 'done')
      throw new Error(`${key} was changed by another client: ${JSON.stringify(result).slice(0, 200)}`);
    if (deletes) standing.delete(key);
    else standing.set(key, result.revision);
    const line: Acknowledged = { key, revision: result.revision, ...(deletes ? {} : { value }) };
    // Synchronous, so that each acknowledged write is reported before the next one.
    writeSync(1, `${JSON.stringify(line)}\n`);
    if (writer === 0 && round % 50 === 49) await storage.compact(result.revision);
  }
}

if (import.meta.main) {
  const [kind, target = '', seed = '1'] = process.argv.slice(2);
  const options = { clock: systemClock, log: silentLogger };
  const storage =
    kind === 'sqlite'
      ? new SqliteStorage({ ...options, file: target })
      : new EtcdStorage({ ...options, endpoints: [target] });
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => write(storage, writer, Number(seed)))).catch(
    (error: unknown) => {
      // etcd was killed rather than this process.
      process.stderr.write(`${String(error)}\n`);
      process.exit(3);
    },
  );
}
