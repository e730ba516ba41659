import assert from 'node:assert/strict';
import type { Random } from '../../../base/random.ts';
import type { FakeClock } from '../../../base/testing/fake-clock.ts';
import { ApiStatusError, isApiError } from '../../../api/status/api-status-error.ts';
import type { Storage, StorageEvent } from '../../storage/storage.ts';
import { widgets } from './registry-fixture.ts';
import type { RegistryFixture, Widget } from './registry-fixture.ts';
import type { FaultyStorage } from './faulty-storage.ts';
import { noFaults } from './faulty-storage.ts';

/** The ground truth: every write that the store accepted, in order. */
export interface Truth {
  readonly writes: readonly StorageEvent[];
  stop(): void;
}

export async function followTruth(storage: Storage): Promise<Truth> {
  const writes: StorageEvent[] = [];
  const watch = storage.watch(
    '/registry/',
    await storage.revision(),
    (events) => writes.push(...events),
    (end) => assert.fail(`the truth ended: ${end.kind}`),
  );
  return { writes, stop: () => watch.close() };
}

const names = ['a', 'b', 'c', 'd'];
/** The object whose finalizer is never removed, so that it stays. */
export const keptName = 'kept';
export const onceName = 'once';
export const prefix = '/registry/widgets/default/';

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random.next() * from.length)] as T;

/** Whether a client may get this error here: an API rejection or a store fault. */
function isExpected(error: unknown): boolean {
  return (
    error instanceof ApiStatusError ||
    (error instanceof Error && 'kind' in error && (error.kind === 'Unavailable' || error.kind === 'Timeout'))
  );
}

export interface Acknowledged {
  readonly name: string;
  readonly uid: string;
  readonly revision: number;
  readonly size: number;
}

/** A client of one server. It checks each response at once where possible, and records the rest. */
export class DisturbedClient {
  readonly acknowledged: Acknowledged[] = [];
  readonly #fixture: RegistryFixture;
  readonly #truth: Truth;
  readonly #random: Random;
  readonly #id: string;
  #count = 0;

  constructor(options: {
    readonly fixture: RegistryFixture;
    readonly truth: Truth;
    readonly random: Random;
    readonly id: string;
  }) {
    this.#fixture = options.fixture;
    this.#truth = options.truth;
    this.#random = options.random;
    this.#id = options.id;
  }

  async run(steps: number): Promise<void> {
    const actions = [
      () => this.#create(),
      () => this.#update(),
      () => this.#patch(),
      () => this.#delete(),
      () => this.#get(),
      () => this.#list(),
      () => this.#oldUid(),
      () => this.#deleteKept(),
    ];
    for (let step = 0; step < steps; step++) {
      try {
        await pick(this.#random, actions)();
      } catch (error) {
        if (!isExpected(error)) throw error;
      }
      await this.#fixture.clock.settle();
    }
  }

  /** Creates an object and retries until it exists. */
  async createOnce(): Promise<void> {
    for (;;) {
      try {
        await this.#fixture.create({ name: onceName, spec: { notes: { by: this.#id } } });
        return;
      } catch (error) {
        if (isApiError(error, 'AlreadyExists')) return;
        if (!isExpected(error)) throw error;
        await this.#fixture.clock.settle();
      }
    }
  }

  #size(): number {
    return Number(this.#id) * 1_000_000 + ++this.#count;
  }

  #note({ metadata, spec }: Widget): void {
    this.acknowledged.push({
      name: metadata.name,
      uid: metadata.uid,
      revision: Number(metadata.resourceVersion),
      size: spec.size ?? -1,
    });
  }

  async #create(): Promise<void> {
    const labels = { even: String(this.#random.next() < 0.5) };
    const name = pick(this.#random, names);
    this.#note(
      await this.#fixture.create({
        name,
        metadata: { name, namespace: '', uid: '', labels },
        spec: { size: this.#size() },
      }),
    );
  }

  async #read(name: string, options: { readonly resourceVersion?: string } = {}): Promise<Widget> {
    return (await this.#fixture.registry.get(this.#fixture.request(widgets, name), options)).object as Widget;
  }

  /** Updates a possibly outdated object. Of two updates of the same version only one may succeed. */
  async #update(): Promise<void> {
    const name = pick(this.#random, names);
    const seen = await this.#read(name, { resourceVersion: '0' });
    const labels = { even: String(this.#random.next() < 0.5) };
    const size = this.#size();
    const written = await this.#fixture.registry.update(this.#fixture.request(widgets, name), {
      value: { ...seen, metadata: { ...seen.metadata, labels }, spec: { ...seen.spec, size } },
      duplicates: [],
    });
    this.#note(written.object as Widget);
    assert.equal(written.object.metadata.uid, seen.metadata.uid);
    const between = this.#truth.writes.filter(
      ({ key, revision }) =>
        key === prefix + name &&
        revision > Number(seen.metadata.resourceVersion) &&
        revision < Number(written.object.metadata.resourceVersion),
    );
    assert.deepEqual(between, [], 'an update that named a version was written over a newer one');
  }

  async #patch(): Promise<void> {
    const name = pick(this.#random, names);
    this.#note(
      (
        await this.#fixture.registry.patch(this.#fixture.request(widgets, name), {
          type: 'merge',
          value: { spec: { size: this.#size(), notes: { [this.#id]: String(this.#count) } } },
          duplicates: [],
        })
      ).object as Widget,
    );
  }

  async #delete(): Promise<void> {
    await this.#fixture.registry.delete(this.#fixture.request(widgets, pick(this.#random, names)), {});
  }

  async #deleteKept(): Promise<void> {
    await this.#fixture.registry.delete(this.#fixture.request(widgets, keptName), {});
  }

  async #oldUid(): Promise<void> {
    const name = pick(this.#random, names);
    const value = { metadata: { name, uid: 'of-another-life' }, spec: { size: this.#size() } };
    await assert.rejects(
      this.#fixture.registry.update(this.#fixture.request(widgets, name), { value, duplicates: [] }),
      isExpected,
    );
  }

  #newest(): number {
    return this.#truth.writes.at(-1)?.revision ?? 1;
  }

  /** Reads an object and checks that it existed in this state at some moment during the request. */
  async #get(): Promise<void> {
    const name = pick(this.#random, names);
    const from = this.#newest();
    const got = await this.#read(name).catch((error: unknown) => {
      if (isApiError(error, 'NotFound')) return undefined;
      throw error;
    });
    const possible = this.#statesOf(prefix + name, from);
    assert.ok(
      possible.has(got === undefined ? 0 : Number(got.metadata.resourceVersion)),
      `${name}: read ${got?.metadata.resourceVersion ?? 'nothing'}, possible were ${[...possible].join(' ')}`,
    );
  }

  async #list(): Promise<void> {
    const from = this.#newest();
    const { items, resourceVersion } = await this.#fixture.registry.list(this.#fixture.request(widgets), {});
    const revision = Number(resourceVersion);
    assert.ok(
      revision >= from && revision <= this.#newest(),
      `a list of ${revision}, from ${from} to ${this.#newest()}`,
    );
    assert.deepEqual(
      new Map(items.map(({ object }) => [prefix + object.metadata.name, Number(object.metadata.resourceVersion)])),
      stateAt(this.#truth, revision),
    );
  }

  /** Returns the revisions of the key since `from`; 0 means that it did not exist. */
  #statesOf(key: string, from: number): ReadonlySet<number> {
    const states = new Set([stateAt(this.#truth, from).get(key) ?? 0]);
    for (const write of this.#truth.writes)
      if (write.key === key && write.revision > from) states.add(write.type === 'put' ? write.revision : 0);
    return states;
  }
}

/** Returns the revision of each widget at a revision of the store. */
function stateAt({ writes }: Truth, revision: number): ReadonlyMap<string, number> {
  const state = new Map<string, number>();
  for (const write of writes) {
    if (write.revision > revision) break;
    if (!write.key.startsWith(prefix)) continue;
    if (write.type === 'put') state.set(write.key, write.revision);
    else state.delete(write.key);
  }
  return state;
}

type Event = 'ADDED' | 'MODIFIED' | 'DELETED';

/**
 * A client that lists and watches. Its watch is interrupted at times, and it resumes from the last seen version; after
 * 410 it lists again.
 */
export class DisturbedWatcher {
  readonly state = new Map<string, number>();
  lists = 0;
  events = 0;
  readonly #fixture: RegistryFixture;
  readonly #truth: Truth;
  readonly #labelSelector: string | undefined;
  #version = 0;
  #open: { close(): void } | undefined;
  #life = 0;

  constructor(options: { readonly fixture: RegistryFixture; readonly truth: Truth; readonly labelSelector?: string }) {
    this.#fixture = options.fixture;
    this.#truth = options.truth;
    this.#labelSelector = options.labelSelector;
  }

  get #selector(): { readonly labelSelector?: string } {
    return this.#labelSelector === undefined ? {} : { labelSelector: this.#labelSelector };
  }

  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  cut(): void {
    this.#open?.close();
    this.#open = undefined;
    this.#life++;
  }

  /** Starts or resumes the watch, until that succeeds. */
  async attach(): Promise<void> {
    while (this.#open === undefined) {
      try {
        if (this.#version === 0) await this.#list();
        await this.#watch();
      } catch (error) {
        if (isApiError(error, 'Expired')) this.#version = 0;
        else if (!isExpected(error)) throw error;
        await this.#fixture.clock.settle();
      }
    }
  }

  async #list(): Promise<void> {
    const { items, resourceVersion } = await this.#fixture.registry.list(
      this.#fixture.request(widgets),
      this.#selector,
    );
    this.lists++;
    this.state.clear();
    for (const { object } of items)
      this.state.set(prefix + object.metadata.name, Number(object.metadata.resourceVersion));
    this.#version = Number(resourceVersion);
  }

  async #watch(): Promise<void> {
    const life = ++this.#life;
    let isOver = false;
    const open = await this.#fixture.registry.watch(
      this.#fixture.request(widgets),
      { ...this.#selector, resourceVersion: String(this.#version) },
      {
        event: (type, { object }) => {
          assert.equal(life, this.#life, 'an event after the end');
          this.#see(type, prefix + object.metadata.name, Number(object.metadata.resourceVersion));
        },
        bookmark: (version) => {
          assert.ok(Number(version) >= this.#version, 'a bookmark of the past');
          this.#version = Number(version);
        },
        end: (error) => {
          isOver = true;
          if (isApiError(error, 'Expired')) this.#version = 0;
          this.cut();
        },
      },
    );
    if (!isOver) this.#open = open;
  }

  #see(type: Event, key: string, revision: number): void {
    this.events++;
    assert.ok(revision > this.#version, `version ${revision} after ${this.#version}`);
    assert.equal(this.state.has(key), type !== 'ADDED', `${type} of ${key}`);
    const missed = this.#truth.writes.filter(
      (write) =>
        write.key === key && write.revision > this.#version && write.revision < revision && this.#concerns(write),
    );
    assert.deepEqual(missed, [], `${key}: changes were left out between ${this.#version} and ${revision}`);
    this.#version = revision;
    if (type === 'DELETED') this.state.delete(key);
    else this.state.set(key, revision);
  }

  /** Whether the watch must show the write. A watch by labels omits objects that neither were nor are selected. */
  #concerns(write: StorageEvent): boolean {
    return this.#labelSelector === undefined || isSelected(write, this.#labelSelector);
  }

  /** Returns the state that the watcher should know. */
  expected(): ReadonlyMap<string, number> {
    const state = stateAt(this.#truth, Infinity);
    const values = new Map(this.#truth.writes.map((write) => [write.revision, write]));
    return new Map([...state].filter(([, revision]) => this.#concerns(values.get(revision) as StorageEvent)));
  }
}

function isSelected({ value }: StorageEvent, labelSelector: string): boolean {
  if (value === '') return false;
  const [key = '', wanted] = labelSelector.split('=');
  return (JSON.parse(value) as Widget).metadata.labels?.[key] === wanted;
}

/** Combines all faults for some virtual time: delays, lost writes, ended watches and compaction. */
export async function disturb(
  faulty: FaultyStorage,
  inner: Storage,
  { clock, random, rounds }: { readonly clock: FakeClock; readonly random: Random; readonly rounds: number },
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    faulty.faults =
      random.next() < 0.2
        ? noFaults
        : {
            delay: 0.3,
            longestDelayMs: 1 + Math.floor(random.next() * 1500),
            refuse: random.next() * 0.2,
            unknown: random.next() * 0.2,
          };
    const roll = random.next();
    if (roll < 0.15) faulty.endWatches({ kind: 'Compacted' });
    else if (roll < 0.3) faulty.endWatches({ kind: 'Unavailable', message: 'cut' });
    else if (roll < 0.4) await inner.compact(await inner.revision());
    await clock.advance(200);
  }
}
