import type { Clock } from '../../../base/clock.ts';
import { withDeadline } from '../../../base/clock.ts';
import { isKind, KubeletError } from '../../../base/errors.ts';
import type { UnitProperty } from './systemd-properties.ts';
import { systemdMajorVersion } from './systemd-properties.ts';

/**
 * A connection to systemd's manager object, over any transport. Calls reject with `Unavailable` when the connection or
 * systemd is gone.
 */
export interface ManagerConnection {
  /** Calls a method of org.freedesktop.systemd1.Manager. Resolves to its result. */
  call(member: string, signature: string, body: readonly unknown[]): Promise<unknown>;
  /** Returns the text of systemd's version. */
  version(): Promise<string>;
  onJobRemoved(listener: (job: string, result: string) => void): void;
  onClose(listener: () => void): void;
  close(): void;
}

/** Connects and subscribes to systemd's signals. */
export type DialManager = () => Promise<ManagerConnection>;

/** The operations on systemd that pod cgroups need. Every call can be repeated. */
export interface SystemdManager {
  version(): Promise<number>;
  /** Starts a slice. `existed` means that it was known: its properties are not changed, but it is running. */
  startSlice(unit: string, properties: readonly UnitProperty[]): Promise<'made' | 'existed'>;
  /** Sets properties until the next boot. Rejects with NotFound for a missing unit. */
  setProperties(unit: string, properties: readonly UnitProperty[]): Promise<void>;
  /** Stops a slice and all processes below it. A missing unit is not an error. */
  stopSlice(unit: string): Promise<void>;
}

interface Live {
  readonly connection: ManagerConnection;
  version: number;
  readonly waiting: Map<string, { resolve: (result: string) => void; reject: (error: KubeletError) => void }>;
  /** The results of jobs that ended before the response to their call arrived. */
  readonly early: Map<string, string>;
  calls: number;
}

/** The time limit of a job (upstream: opencontainers/cgroups, systemd/common.go). */
const JOB_LIMIT_MS = 30_000;

/**
 * Controls systemd over D-Bus. Invariants:
 * 1. There is one connection. It is opened at the first call and reopened after it was lost, so a restart of dbus or of
 *    systemd needs no other action.
 * 2. A call that fails with a lost connection is repeated once on a new one, because all these calls can be repeated.
 * 3. Creating and stopping return when systemd's job has ended, and not when it was queued.
 */
export class BusSystemdManager implements SystemdManager {
  readonly #dial: DialManager;
  readonly #clock: Clock;
  #live: Promise<Live> | undefined;

  constructor(dial: DialManager, clock: Clock) {
    this.#dial = dial;
    this.#clock = clock;
  }

  version(): Promise<number> {
    return this.#with(async (live) => live.version);
  }

  async startSlice(unit: string, properties: readonly UnitProperty[]): Promise<'made' | 'existed'> {
    return this.#with(async (live) => {
      try {
        const result = await this.#job(live, 'StartTransientUnit', 'ssa(sv)a(sa(sv))', [
          unit,
          'replace',
          wire(properties),
          [],
        ]);
        if (result === 'done') return 'made';
        // The name of a failed unit cannot be used again until it is reset.
        await live.connection.call('ResetFailedUnit', 's', [unit]).catch(() => undefined);
        throw new KubeletError('Internal', `systemd could not start ${unit}: ${result}`, { op: 'start slice' });
      } catch (error) {
        if (!isKind(error, 'AlreadyExists')) throw error;
        // The unit is known to systemd, but it may be stopped.
        await this.#job(live, 'StartUnit', 'ss', [unit, 'replace']);
        return 'existed';
      }
    });
  }

  async setProperties(unit: string, properties: readonly UnitProperty[]): Promise<void> {
    if (properties.length === 0) return;
    await this.#with((live) => live.connection.call('SetUnitProperties', 'sba(sv)', [unit, true, wire(properties)]));
  }

  async stopSlice(unit: string): Promise<void> {
    await this.#with(async (live) => {
      try {
        await this.#job(live, 'StopUnit', 'ss', [unit, 'replace']);
      } catch (error) {
        if (!isKind(error, 'NotFound')) throw error;
      }
      await live.connection.call('ResetFailedUnit', 's', [unit]).catch(() => undefined);
    });
  }

  async #with<T>(action: (live: Live) => Promise<T>): Promise<T> {
    const wasOpen = this.#live !== undefined;
    const dialled = this.#connect();
    const live = await dialled;
    try {
      return await action(live);
    } catch (error) {
      if (!isKind(error, 'Unavailable') || !wasOpen) throw error;
      // The connection may be broken without having reported it yet.
      if (this.#live === dialled) this.#live = undefined;
      live.connection.close();
      return action(await this.#connect());
    }
  }

  #connect(): Promise<Live> {
    if (this.#live !== undefined) return this.#live;
    const dialled = this.#open();
    this.#live = dialled;
    const forget = (): void => {
      if (this.#live === dialled) this.#live = undefined;
    };
    dialled.then((live) => live.connection.onClose(forget), forget);
    return dialled;
  }

  async #open(): Promise<Live> {
    const connection = await this.#dial();
    const live: Live = { connection, version: 0, waiting: new Map(), early: new Map(), calls: 0 };
    connection.onJobRemoved((job, result) => {
      const waiter = live.waiting.get(job);
      if (waiter !== undefined) waiter.resolve(result);
      else if (live.calls > 0) live.early.set(job, result);
    });
    connection.onClose(() => {
      for (const [job, waiter] of live.waiting)
        waiter.reject(
          new KubeletError('Unavailable', `the connection to systemd was lost before ${job} had ended`, {
            op: 'wait for systemd',
          }),
        );
    });
    try {
      live.version = systemdMajorVersion(await connection.version());
    } catch (error) {
      connection.close();
      throw error;
    }
    return live;
  }

  /** Queues a job and waits for its result. */
  #job(live: Live, member: string, signature: string, body: readonly unknown[]): Promise<string> {
    const op = `${member} ${String(body[0])}`;
    return withDeadline({ clock: this.#clock, limitMs: JOB_LIMIT_MS, op }, async (signal) => {
      let job: string;
      live.calls += 1;
      try {
        job = String(await live.connection.call(member, signature, body));
      } finally {
        live.calls -= 1;
      }
      const known = live.early.get(job);
      if (live.calls === 0) live.early.clear();
      if (known !== undefined) return known;
      try {
        return await new Promise<string>((resolve, reject) => {
          live.waiting.set(job, { resolve, reject });
          signal.addEventListener(
            'abort',
            () => reject(new KubeletError('Timeout', `${op} did not end in time`, { op })),
            { once: true },
          );
        });
      } finally {
        live.waiting.delete(job);
      }
    });
  }
}

/** Encodes properties as the D-Bus type `a(sv)`. */
function wire(properties: readonly UnitProperty[]): unknown[] {
  return properties.map(({ name, type, value }) => [name, [type, value]]);
}
