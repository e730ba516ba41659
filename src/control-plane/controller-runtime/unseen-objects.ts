import type { Clock } from '../../base/clock.ts';
import type { Informer } from '../../api/client/informer.ts';
import { keyOf } from '../../api/client/resource-type.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';

/** What was made but not seen for so long is taken for gone; `Expectations` waits as long. */
const GIVEN_UP_AFTER_MS = 300_000;

/**
 * Objects of fixed names that a controller made and its informer has not shown yet. Without them every pass until then
 * would send a creation that the API server refuses.
 */
export class UnseenObjects<T extends ApiObject> {
  readonly #informer: Informer<T>;
  readonly #clock: Clock;
  readonly #byUid = new Map<string, { readonly ownerUid: string; readonly object: T; readonly untilMs: number }>();

  constructor(informer: Informer<T>, clock: Clock) {
    this.#informer = informer;
    this.#clock = clock;
  }

  /** Forgets what the informer shows, or shows as gone. Returns what ends it. */
  observe(): () => void {
    const seen = ({ metadata }: T): void => void this.#byUid.delete(metadata.uid);
    return this.#informer.addHandlers({ onAdd: seen, onUpdate: (_before, after) => seen(after), onDelete: seen });
  }

  /** `owner` made the object, or found it where it wanted to make it. */
  made(owner: ApiObject, object: T): void {
    const { uid } = object.metadata;
    if (this.#informer.get(keyOf(object))?.metadata.uid === uid) return;
    const untilMs = this.#clock.monotonicMs() + GIVEN_UP_AFTER_MS;
    this.#byUid.set(uid, { ownerUid: owner.metadata.uid, object, untilMs });
  }

  /** What the informer shows of the owner, and what it does not show yet. */
  with(owner: ApiObject, shown: readonly T[]): readonly T[] {
    if (this.#byUid.size === 0) return shown;
    const nowMs = this.#clock.monotonicMs();
    const unseen: T[] = [];
    for (const [uid, { ownerUid, object, untilMs }] of this.#byUid) {
      if (untilMs <= nowMs) this.#byUid.delete(uid);
      else if (ownerUid === owner.metadata.uid) unseen.push(object);
    }
    return unseen.length === 0 ? shown : [...shown, ...unseen];
  }
}
