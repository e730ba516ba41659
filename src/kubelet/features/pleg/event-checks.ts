import type { Clock, Timer } from '../../../base/clock.ts';
import type { PodUid } from '../../model/ids.ts';
import type { RuntimeEvent } from '../../ports/runtime.ts';
import type { Inspector } from './inspector.ts';
import type { RuntimeCache } from './runtime-cache.ts';

/**
 * The intervals of checks after an event. The runtime announces an exit before its own status shows it (containerd: the
 * task's exit, then the container's status), so it is polled until the cache shows the change, frequently at first.
 * With containerd 1.6, the status follows the event after 25 to 30 ms.
 */
const recheckDelaysMs = [5, 5, 5, 5, 5, 5, 10, 20, 40, 80, 160, 320, 640, 1000] as const;
/**
 * After this time the runtime's status has all details of an exit that an event reported, or will soon. Then it is
 * polled again.
 */
const CONFIRM_MS = 200;
/**
 * Starts and creations are mostly the agent's own calls, whose results arrive anyway. So they are not polled quickly.
 */
const OWN_WORK_GRACE_MS = 250;
/**
 * Removals and the ends of sandboxes usually are the agent's own calls too. There is one check immediately, and if it
 * was too early the next ones follow at long intervals. With the intervals for containers they would cost ten calls per
 * deleted pod.
 */
const LIKELY_OWN_WORK_CHECK = recheckDelaysMs.indexOf(40);

/**
 * The change that the cache must show. `confirmed` means that the runtime's status has confirmed an exit that an event
 * reported.
 */
type ExpectedChange = Exclude<RuntimeEvent['kind'], 'created'> | 'confirmed';

interface Check {
  readonly uid: PodUid;
  expected: ExpectedChange;
  checks: number;
  /** The timer of the next check; undefined while a check is running. */
  timer: Timer | undefined;
}

export interface EventChecksOptions {
  readonly clock: Clock;
  readonly cache: RuntimeCache;
  readonly inspector: Inspector;
  /**
   * Containers with an OOM kill event. The event may arrive before the runtime's status shows it, and after the status
   * shows the exit.
   */
  readonly oomSeen?: ReadonlySet<string>;
}

/**
 * Ensures that the changes announced by events reach the cache, with as few calls as possible. There is one check per
 * id.
 */
export class EventChecks {
  readonly #options: EventChecksOptions;
  readonly #checks = new Map<string, Check>();

  constructor(options: EventChecksOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#checks.size;
  }

  /** Expects a change of an id that is in the cache. */
  expect(uid: PodUid, id: string, kind: RuntimeEvent['kind']): void {
    if (kind === 'created') return;
    if (kind !== 'changed' && this.#hasHappened(id, kind))
      return kind === 'stopped' ? this.confirm(uid, id) : undefined;
    const known = this.#checks.get(id);
    // A check that only waits for confirmation is replaced by the check for the removal.
    if (known === undefined || (known.expected === 'confirmed' && kind === 'deleted')) {
      known?.timer?.cancel();
      const check: Check = {
        uid,
        expected: kind,
        checks: this.#isLikelyOwnWork(id, kind) ? LIKELY_OWN_WORK_CHECK : 0,
        timer: undefined,
      };
      this.#checks.set(id, check);
      if (kind === 'started') this.#checkAfter(id, check, OWN_WORK_GRACE_MS);
      else void this.#check(id, check);
      return;
    }
    if (known.expected === kind ? kind === 'changed' : rank(kind) < rank(known.expected)) return;
    known.expected = kind;
    // An event during the wait for the next check starts the check immediately. If a running check was too early,
    // another one follows.
    if (known.timer === undefined || this.#isLikelyOwnWork(id, kind)) return;
    known.timer.cancel();
    void this.#check(id, known);
  }

  /**
   * Requests the runtime's status of an exit that an event reported, because the event has no termination message. The
   * status is requested after a while until the message has arrived. Nothing is requested if the runtime has already
   * reported it.
   */
  confirm(uid: PodUid, id: string): void {
    if (this.#isDone(id, 'confirmed')) return;
    this.#checks.get(id)?.timer?.cancel();
    const check: Check = { uid, expected: 'confirmed', checks: 0, timer: undefined };
    this.#checks.set(id, check);
    this.#checkAfter(id, check, CONFIRM_MS);
  }

  stop(): void {
    for (const check of this.#checks.values()) check.timer?.cancel();
    this.#checks.clear();
  }

  async #check(id: string, check: Check): Promise<void> {
    check.timer = undefined;
    const { cache, inspector } = this.#options;
    const expected = check.expected;
    if (expected === 'changed' || !this.#isDone(id, expected)) await inspector.look(check.uid, id);
    if (this.#checks.get(id) !== check) return;
    const done = this.#isDone(id, check.expected);
    const delayMs = recheckDelaysMs[check.checks++];
    if (done || cache.ownerOf(id) === undefined || delayMs === undefined) this.#checks.delete(id);
    else this.#checkAfter(id, check, delayMs);
  }

  #checkAfter(id: string, check: Check, delayMs: number): void {
    check.timer = this.#options.clock.setTimer(delayMs, () => void this.#check(id, check));
  }

  #isLikelyOwnWork(id: string, kind: RuntimeEvent['kind']): boolean {
    return kind === 'deleted' || (kind === 'stopped' && this.#options.cache.sandbox(id) !== undefined);
  }

  /**
   * Whether the cache shows the change. After an OOM kill, a status of the ended container with another reason was read
   * too early.
   */
  #isDone(id: string, expected: ExpectedChange): boolean {
    const { cache, oomSeen } = this.#options;
    const container = cache.container(id);
    const lacksReason = oomSeen?.has(id) === true && container?.state === 'exited' && container.reason !== 'OOMKilled';
    return !lacksReason && this.#hasHappened(id, expected);
  }

  #hasHappened(id: string, kind: ExpectedChange): boolean {
    const { cache } = this.#options;
    const container = cache.container(id);
    const sandbox = cache.sandbox(id);
    switch (kind) {
      case 'started':
        return container?.state !== 'created';
      case 'stopped':
        return container === undefined ? sandbox?.ready !== true : container.state === 'exited';
      case 'deleted':
        return container === undefined && sandbox === undefined;
      case 'confirmed':
        return container === undefined || cache.isConfirmed(id);
      case 'changed':
        // A container that is still running is checked again when it ends.
        return true;
    }
  }
}

/** Returns the position in the life cycle. A later stage implies the earlier ones. */
function rank(kind: ExpectedChange): number {
  return ['changed', 'started', 'stopped', 'confirmed', 'deleted'].indexOf(kind);
}
