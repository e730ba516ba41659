import { inBackground } from '../../../base/background.ts';
import type { BackoffCurve } from '../../../base/backoff.ts';
import { backoffDelayMs } from '../../../base/backoff.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import { sleep, withDeadline } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { InhibitorLock, LoginConnection, LoginManager } from '../../ports/login-manager.ts';

export interface LogindWatchParts {
  readonly loginManager: LoginManager;
  /** How long logind should wait, in milliseconds. */
  readonly wantedMs: number;
  /** Called when the machine will shut down within `availableMs`. Resolves when it may shut down. */
  readonly begin: (availableMs: number) => Promise<void>;
  readonly cancel: () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The lock that delays a shutdown (upstream: InhibitShutdown). */
const inhibitorLock = { who: 'kubelet', why: 'Kubelet needs time to handle node shutdown' };
/** The back-off of connections. Upstream reconnects each second (dbusReconnectPeriod). */
const reconnect: BackoffCurve = { initialMs: 1000, maxMs: 30_000, factor: 2 };
/** The number of checks for a new configuration, because logind reads it some time after the request. */
const RELOAD_TRIES = 20;
const RELOAD_PAUSE_MS = 100;
/** How long the start of the agent waits for the first connection. */
const FIRST_LIMIT_MS = 5000;

/**
 * Follows systemd-logind and delays the shutdown of the machine until the pods have ended. Invariants:
 * 1. While the agent runs and no shutdown is in progress, it holds one lock.
 * 2. A lost connection, a lost lock and an unavailable logind are retried, with a back-off of up to 30 s. An earlier
 *    lock is released only when the next one is held.
 * 3. An agent that starts during a shutdown notices it, because it reads the state and does not rely on the signal
 *    alone.
 * 4. If logind grants less time than configured, the pods get that time.
 */
export class LogindWatch {
  readonly #parts: LogindWatchParts;
  #connection: LoginConnection | undefined;
  #lock: InhibitorLock | undefined;
  #availableMs: number;
  #failures = 0;
  #retry: Timer | undefined;
  #problem: string | undefined;
  #isShuttingDown = false;
  #isStopped = false;

  constructor(parts: LogindWatchParts) {
    this.#parts = parts;
    this.#availableMs = parts.wantedMs;
  }

  /** Resolves when the first connection was tried, after 5 s at the latest. */
  async start(): Promise<void> {
    const { clock, log } = this.#parts;
    const first = this.#connect();
    await withDeadline({ clock, limitMs: FIRST_LIMIT_MS, op: 'connect to logind' }, () => first).catch(
      (error: unknown) =>
        log.error('node shutdown manager is slow to start', {
          error: errorMessage(error),
        }),
    );
  }

  stop(): void {
    this.#isStopped = true;
    this.#retry?.cancel();
    this.#connection?.close();
    this.#lock?.release();
  }

  /** Returns why a shutdown of the machine would not wait for its pods, or undefined if it would. */
  problem(): string | undefined {
    return this.#problem;
  }

  async #connect(): Promise<void> {
    const { loginManager } = this.#parts;
    let connection: LoginConnection | undefined;
    try {
      connection = await loginManager.connect();
      if (this.#isStopped) return connection.close();
      await this.#follow(connection);
      this.#failures = 0;
      this.#problem = undefined;
    } catch (error) {
      this.#failed(connection, errorMessage(error));
    }
  }

  async #follow(connection: LoginConnection): Promise<void> {
    this.#connection = connection;
    connection.onClose(() => this.#lost(connection, 'the connection to logind was closed'));
    connection.onPrepareForShutdown((isStarting) => this.#signalled(connection, isStarting));
    this.#availableMs = await this.#ensureDelay(connection);
    const isPreparing = await connection.isPreparingForShutdown();
    if (isPreparing !== this.#isShuttingDown) return this.#signalled(connection, isPreparing);
    if (!isPreparing) await this.#takeLock(connection);
  }

  async #takeLock(connection: LoginConnection): Promise<void> {
    const lock = await connection.inhibitShutdown(inhibitorLock);
    const earlier = this.#lock;
    this.#lock = lock;
    earlier?.release();
    if (this.#isStopped) return lock.release();
    lock.onLost(() => {
      if (this.#lock !== lock) return;
      this.#lock = undefined;
      this.#lost(connection, 'the inhibitor lock was lost');
      connection.close();
    });
  }

  /** Ensures that logind waits long enough. Resolves to its delay, at most the requested one (upstream: start). */
  async #ensureDelay(connection: LoginConnection): Promise<number> {
    const { wantedMs, clock, log } = this.#parts;
    let delayMs = await connection.inhibitDelayMaxMs();
    if (delayMs >= wantedMs) return wantedMs;
    try {
      await connection.overrideInhibitDelayMax(wantedMs);
      for (let tries = RELOAD_TRIES; tries > 0 && delayMs < wantedMs; tries--) {
        delayMs = await connection.inhibitDelayMaxMs();
        if (delayMs < wantedMs) await sleep(clock, RELOAD_PAUSE_MS);
      }
    } catch (error) {
      log.error('the inhibit delay of logind cannot be set', { error: errorMessage(error) });
    }
    if (delayMs < wantedMs)
      log.error(
        'node shutdown manager was unable to update logind InhibitDelayMaxSec; pods get less time in a shutdown',
        { wantedMs, delayMs },
      );
    return Math.min(delayMs, wantedMs);
  }

  #signalled(connection: LoginConnection, isStarting: boolean): void {
    if (this.#connection !== connection || this.#isStopped || isStarting === this.#isShuttingDown) return;
    const { begin, cancel, log } = this.#parts;
    this.#isShuttingDown = isStarting;
    if (isStarting) {
      const release = (): void => {
        if (!this.#isShuttingDown) return;
        this.#lock?.release();
        this.#lock = undefined;
      };
      return inBackground(log, 'ending the pods before the shutdown', begin(this.#availableMs).finally(release));
    }
    cancel();
    if (this.#lock !== undefined) return;
    this.#takeLock(connection).catch((error: unknown) => this.#failed(connection, errorMessage(error)));
  }

  #failed(connection: LoginConnection | undefined, error: string): void {
    if (this.#isStopped) return;
    if (this.#problem !== error) this.#parts.log.error('Failed to start node shutdown manager', { error });
    this.#problem = error;
    if (connection === undefined) return this.#reconnect();
    this.#connection = connection;
    connection.close();
    this.#lost(connection, error);
  }

  #lost(connection: LoginConnection, why: string): void {
    if (this.#connection !== connection || this.#isStopped) return;
    this.#connection = undefined;
    this.#problem ??= why;
    this.#parts.log.debug(2, 'node shutdown manager reconnects to logind', { why });
    this.#reconnect();
  }

  #reconnect(): void {
    this.#failures += 1;
    this.#retry?.cancel();
    this.#retry = this.#parts.clock.setTimer(backoffDelayMs(reconnect, this.#failures), () => void this.#connect());
  }
}
