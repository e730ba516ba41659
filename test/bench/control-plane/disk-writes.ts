// Measures what an idle cluster of one node writes to the disk, as the kernel counts it, and how fast the store takes
// writes. usage: node test/bench/control-plane/disk-writes.ts [FOLDER]   (on the disk to measure; a file system in
// memory counts nothing)
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { FakeClock } from '../../../src/base/testing/fake-clock.ts';
import { SqliteStorage } from '../../../src/control-plane/storage/sqlite/sqlite-storage.ts';
import type { PutOptions, Storage } from '../../../src/control-plane/storage/storage.ts';

export interface DiskWrites {
  /** Bytes that the kernel was asked to write per hour. */
  readonly bytesPerHour: number;
  /** The bytes of the objects themselves per hour. */
  readonly payloadBytesPerHour: number;
  readonly writesPerHour: number;
  /** The size of the files at the end. */
  readonly storeBytes: number;
}

export interface QuietLoad {
  readonly leaseEverySeconds: number;
  readonly nodeStatusEverySeconds: number;
  readonly eventsPerMinute: number;
}

export const ONE_NODE: QuietLoad = { leaseEverySeconds: 10, nodeStatusEverySeconds: 300, eventsPerMinute: 100 };

/** Sizes of the real objects as JSON. */
const LEASE_BYTES = 480;
const NODE_BYTES = 7000;
const EVENT_BYTES = 900;
const EVENT_TTL_SECONDS = 3600;
const COMPACT_EVERY_SECONDS = 300;
const STEP_MS = 100;
const HOUR_STEPS = (3600 * 1000) / STEP_MS;

/** Measures one hour in virtual time, after an hour in which the store fills and events start to expire. */
export async function measureDiskWrites(folder: string, load: QuietLoad): Promise<DiskWrites> {
  const clock = new FakeClock();
  const storage = new SqliteStorage({ file: path.join(folder, 'state.db'), clock, log: silentLogger });
  const run = new LoadRun(storage, load);
  try {
    for (let step = 0; step < HOUR_STEPS; step++) await run.step(step, clock);
    const before = { disk: writtenBytes(), revision: await storage.revision(), payload: run.payloadBytes };
    for (let step = HOUR_STEPS; step < 2 * HOUR_STEPS; step++) await run.step(step, clock);
    return {
      bytesPerHour: writtenBytes() - before.disk,
      payloadBytesPerHour: run.payloadBytes - before.payload,
      writesPerHour: (await storage.revision()) - before.revision,
      storeBytes: await storage.sizeBytes(),
    };
  } finally {
    await run.settled();
    await storage.close();
  }
}

class LoadRun {
  readonly #storage: Storage;
  readonly #load: QuietLoad;
  readonly #standing = new Map<string, number>();
  readonly #pending = new Set<Promise<void>>();
  #compactAt = 0;
  payloadBytes = 0;

  constructor(storage: Storage, load: QuietLoad) {
    this.#storage = storage;
    this.#load = load;
  }

  async step(step: number, clock: FakeClock): Promise<void> {
    const every = (seconds: number): boolean => step % Math.round((seconds * 1000) / STEP_MS) === 0;
    if (every(this.#load.leaseEverySeconds))
      this.#put('/registry/leases/kube-node-lease/node-1', LEASE_BYTES, { unhurried: true });
    if (every(this.#load.nodeStatusEverySeconds)) this.#put('/registry/minions/node-1', NODE_BYTES, {});
    if (every(60 / this.#load.eventsPerMinute))
      this.#put(`/registry/events/default/event-${step}`, EVENT_BYTES, {
        unhurried: true,
        ttlSeconds: EVENT_TTL_SECONDS,
      });
    if (every(COMPACT_EVERY_SECONDS)) {
      await this.#storage.compact(Math.max(this.#compactAt, 1));
      this.#compactAt = await this.#storage.revision();
    }
    await clock.advance(STEP_MS);
    // The disk needs real time: a read waits for the commit in progress.
    if (this.#pending.size > 0) await this.#storage.revision();
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#pending);
  }

  #put(key: string, bytes: number, options: Omit<PutOptions, 'expected'>): void {
    this.payloadBytes += bytes;
    const write = this.#storage
      .put(key, 'x'.repeat(bytes), { ...options, expected: this.#standing.get(key) ?? 0 })
      .then((result) => {
        if (result.outcome !== 'done') throw new Error(`${key} was not written`);
        if (options.ttlSeconds === undefined) this.#standing.set(key, result.revision);
        this.#pending.delete(write);
      });
    this.#pending.add(write);
  }
}

/** The number of small puts per second with this number of writers, each of which waits for its response. */
async function measurePuts(folder: string, writers: number, puts: number): Promise<number> {
  const storage = new SqliteStorage({
    file: path.join(folder, `speed-${writers}.db`),
    clock: systemClock,
    log: silentLogger,
  });
  const value = 'x'.repeat(500);
  const startMs = systemClock.monotonicMs();
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      for (let i = 0; i < puts / writers; i++)
        await storage.put(`/registry/configmaps/default/w${writer}-${i}`, value, { expected: 0 });
    }),
  );
  const seconds = (systemClock.monotonicMs() - startMs) / 1000;
  await storage.close();
  return puts / seconds;
}

/** The bytes that this process has written to disks so far, proc(5). */
function writtenBytes(): number {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1] ?? 0);
}

if (import.meta.main) {
  const folder = mkdtempSync(path.join(process.argv[2] ?? tmpdir(), 'kts-disk-writes-'));
  try {
    const mebi = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
    const { bytesPerHour, payloadBytesPerHour, writesPerHour, storeBytes } = await measureDiskWrites(folder, ONE_NODE);
    console.log(
      `one node, its lease every 10 s, its status every 5 min, 100 events a minute: ${mebi(bytesPerHour)} an hour to the disk`,
    );
    console.log(
      `  ${writesPerHour} writes, expiries among them; the objects are ${mebi(payloadBytesPerHour)}; ${mebi(bytesPerHour * 24)} a day; the store takes ${mebi(storeBytes)}`,
    );
    for (const writers of [1, 8, 64])
      console.log(`${writers} writers: ${Math.round(await measurePuts(folder, writers, 40_000))} puts a second`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
