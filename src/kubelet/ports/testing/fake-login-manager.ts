import type { Clock, Timer } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { InhibitorLock, LoginConnection, LoginManager } from '../login-manager.ts';

interface Open {
  readonly onSignal: Set<(isStarting: boolean) => void>;
  readonly onClose: Set<() => void>;
  isOpen: boolean;
}

/** A machine whose shutdown waits for locks, for a limited time. */
export class FakeLoginManager implements LoginManager {
  delayMaxMs = 5000;
  /** Whether logind keeps its own delay, as with a file of higher precedence. */
  ignoresOverride = false;
  isAway = false;
  /** Whether the machine has shut down: the locks were released, or logind's time limit passed. */
  isDown = false;
  isPreparing = false;
  /** The locks in the order in which they were taken, without released ones. */
  readonly locks: { who: string; why: string; lose: () => void }[] = [];
  readonly #open = new Set<Open>();
  readonly #clock: Clock;
  #patience: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get connections(): number {
    return this.#open.size;
  }

  /** Does what `systemctl poweroff` does. */
  shutDown(): void {
    this.isPreparing = true;
    this.#signal(true);
    if (this.locks.length === 0) this.#goDown();
    else this.#patience = this.#clock.setTimer(this.delayMaxMs, () => this.#goDown());
  }

  /** Cancels the job that would stop the machine. */
  cancel(): void {
    this.#patience?.cancel();
    this.isPreparing = false;
    this.isDown = false;
    this.#signal(false);
  }

  /** Simulates a restart of D-Bus or logind. Locks survive it. */
  loseConnections(): void {
    for (const open of [...this.#open]) this.#close(open);
  }

  async connect(): Promise<LoginConnection> {
    this.#check();
    const open: Open = { onSignal: new Set(), onClose: new Set(), isOpen: true };
    this.#open.add(open);
    const asked = async <T>(answer: () => T): Promise<T> => {
      this.#check();
      if (!open.isOpen) throw new KubeletError('Unavailable', 'the connection to logind was closed');
      return answer();
    };
    return {
      inhibitDelayMaxMs: () => asked(() => this.delayMaxMs),
      overrideInhibitDelayMax: (delayMs) =>
        asked(() => {
          if (!this.ignoresOverride) this.delayMaxMs = delayMs;
        }),
      isPreparingForShutdown: () => asked(() => this.isPreparing),
      inhibitShutdown: (lock) => asked(() => this.#take(lock)),
      onPrepareForShutdown: (listener) => void open.onSignal.add(listener),
      onClose: (listener) => void open.onClose.add(listener),
      close: () => this.#close(open),
    };
  }

  #check(): void {
    if (this.isAway) throw new KubeletError('Unavailable', 'logind cannot be reached');
  }

  #take({ who, why }: { who: string; why: string }): InhibitorLock {
    if (this.isPreparing)
      throw new KubeletError('Unavailable', 'The operation inhibition has been requested for is already running');
    const listeners = new Set<() => void>();
    const entry = {
      who,
      why,
      lose: () => {
        this.#release(entry);
        for (const listener of listeners) listener();
      },
    };
    this.locks.push(entry);
    return { release: () => this.#release(entry), onLost: (listener) => void listeners.add(listener) };
  }

  #release(entry: (typeof this.locks)[number]): void {
    const place = this.locks.indexOf(entry);
    if (place === -1) return;
    this.locks.splice(place, 1);
    if (this.isPreparing && this.locks.length === 0) this.#goDown();
  }

  #goDown(): void {
    this.#patience?.cancel();
    this.isDown = true;
  }

  #signal(isStarting: boolean): void {
    for (const { onSignal } of [...this.#open]) for (const listener of onSignal) listener(isStarting);
  }

  #close(open: Open): void {
    if (!this.#open.delete(open)) return;
    open.isOpen = false;
    for (const listener of open.onClose) listener();
  }
}
