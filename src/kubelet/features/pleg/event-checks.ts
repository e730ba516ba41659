import type { Clock, Timer } from '../../../base/clock.ts';
import type { PodUid } from '../../model/ids.ts';
import type { RuntimeEvent } from '../../ports/runtime.ts';
import type { Inspector } from './inspector.ts';
import type { RuntimeCache } from './runtime-cache.ts';

/**
 * The runtime announces an exit before its own answers show it (containerd: the task's exit, then the container's status).
 * So what an event promises is looked for until the cache shows it, closely at first: measured on containerd 1.6, status follows the event after 25 to 30 ms.
 */
const LOOK_AGAIN_MS = [5, 5, 5, 5, 5, 5, 10, 20, 40, 80, 160, 320, 640, 1000] as const;
/** When the runtime's own answer surely has all details of an exit that an event reported, or soon will: then it is looked for again. */
const CONFIRM_MS = 200;
/** Starts and creations are mostly the agent's own, whose result comes by itself: no need to hurry after them. */
const OWN_WORK_GRACE_MS = 250;
/**
 * So are removals and the ends of sandboxes, but not surely: one look at once, and if it came too early the next ones far apart.
 * Looked for as closely as the end of a container, they cost ten calls per deleted pod.
 */
const LIKELY_OWN_WORK_LOOK = LOOK_AGAIN_MS.indexOf(40);

/** `confirmed`: that the runtime itself said what an event had told of an exit. */
type Promised = Exclude<RuntimeEvent['kind'], 'created'> | 'confirmed';

interface Check {
  uid: PodUid;
  promised: Promised;
  looks: number;
  /** Armed between looks; undefined while one is under way. */
  timer: Timer | undefined;
}

export interface EventChecksOptions {
  clock: Clock;
  cache: RuntimeCache;
  inspector: Inspector;
  /** Containers of which an OOM kill was told. The event may come before the runtime's own answers know it, and after they show the exit. */
  oomSeen?: ReadonlySet<string>;
}

/** Sees to it that what events announce reaches the cache, with as few calls as can be. One check per id. */
export class EventChecks {
  readonly #options: EventChecksOptions;
  readonly #checks = new Map<string, Check>();

  constructor(options: EventChecksOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#checks.size;
  }

  /** `id` is in the cache. */
  expect(uid: PodUid, id: string, kind: RuntimeEvent['kind']): void {
    if (kind === 'created') return;
    if (kind !== 'changed' && this.#isFulfilled(id, kind))
      return kind === 'stopped' ? this.confirm(uid, id) : undefined;
    const known = this.#checks.get(id);
    // What only waits to be confirmed gives way to its removal.
    if (known === undefined || (known.promised === 'confirmed' && kind === 'deleted')) {
      known?.timer?.cancel();
      const check: Check = {
        uid,
        promised: kind,
        looks: this.#isLikelyOwnWork(id, kind) ? LIKELY_OWN_WORK_LOOK : 0,
        timer: undefined,
      };
      this.#checks.set(id, check);
      if (kind === 'started') this.#lookAfter(id, check, OWN_WORK_GRACE_MS);
      else void this.#look(id, check);
      return;
    }
    if (known.promised === kind ? kind === 'changed' : rank(kind) < rank(known.promised)) return;
    known.promised = kind;
    // News while waiting for the next look: look now. A look under way ends with another one if it came too early.
    if (known.timer === undefined || this.#isLikelyOwnWork(id, kind)) return;
    known.timer.cancel();
    void this.#look(id, known);
  }

  /**
   * An exit told by an event lacks what only the runtime's answer has: the termination message. It is asked for some time from now, and
   * until it has come, whatever else is looked for meanwhile. Nothing is asked when the runtime has said it already.
   */
  confirm(uid: PodUid, id: string): void {
    if (this.#isDone(id, 'confirmed')) return;
    this.#checks.get(id)?.timer?.cancel();
    const check: Check = { uid, promised: 'confirmed', looks: 0, timer: undefined };
    this.#checks.set(id, check);
    this.#lookAfter(id, check, CONFIRM_MS);
  }

  stop(): void {
    for (const check of this.#checks.values()) check.timer?.cancel();
    this.#checks.clear();
  }

  async #look(id: string, check: Check): Promise<void> {
    check.timer = undefined;
    const { cache, inspector } = this.#options;
    const promised = check.promised;
    if (promised === 'changed' || !this.#isDone(id, promised)) await inspector.look(check.uid, id);
    if (this.#checks.get(id) !== check) return;
    const done = this.#isDone(id, check.promised);
    const delayMs = LOOK_AGAIN_MS[check.looks++];
    if (done || cache.ownerOf(id) === undefined || delayMs === undefined) this.#checks.delete(id);
    else this.#lookAfter(id, check, delayMs);
  }

  #lookAfter(id: string, check: Check, delayMs: number): void {
    check.timer = this.#options.clock.setTimer(delayMs, () => void this.#look(id, check));
  }

  #isLikelyOwnWork(id: string, kind: RuntimeEvent['kind']): boolean {
    return kind === 'deleted' || (kind === 'stopped' && this.#options.cache.sandbox(id) !== undefined);
  }

  /** Also of an OOM kill, once its container is over: an answer that shows another reason was given too early. */
  #isDone(id: string, promised: Promised): boolean {
    const { cache, oomSeen } = this.#options;
    const container = cache.container(id);
    const lacksReason = oomSeen?.has(id) === true && container?.state === 'exited' && container.reason !== 'OOMKilled';
    return !lacksReason && this.#isFulfilled(id, promised);
  }

  #isFulfilled(id: string, kind: Promised): boolean {
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
        // What runs on is asked again when it ends.
        return true;
    }
  }
}

/** A later stage of life promises more. */
function rank(kind: Promised): number {
  return ['changed', 'started', 'stopped', 'confirmed', 'deleted'].indexOf(kind);
}
