import type { Clock } from '../../base/clock.ts';
import type { Informer } from '../../api/client/informer.ts';
import { keyOf } from '../../api/client/resource-type.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';

/**
 * An object that is not seen for this time after its creation counts as deleted; `Expectations` waits the same time.
 */
const GIVEN_UP_AFTER_MS = 300_000;

/**
 * Objects with fixed names that a controller created and its informer has not shown yet. Without this record, each pass
 * until then would send a create request that the API server refuses.
 */
export class UnseenObjects<T extends ApiObject> {
  readonly #informer: Informer<T>;
  readonly #clock: Clock;
  readonly #byUid = new Map<string, { readonly ownerUid: string; readonly object: T; readonly untilMs: number }>();

  constructor(informer: Informer<T>, clock: Clock) {
    this.#informer = informer;
    this.#clock = clock;
  }

  /** Drops objects that the informer shows, or shows as deleted. Returns the function that unsubscribes. */
  observe(): () => void {
    const seen = ({ metadata }: T): void => void this.#byUid.delete(metadata.uid);
    return this.#informer.addHandlers({ onAdd: seen, onUpdate: (_before, after) => seen(after), onDelete: seen });
  }

  /** `owner` created the object, or found that it already existed. */
  made(owner: ApiObject, object: T): void {
    const { uid } = object.metadata;
    if (this.#informer.get(keyOf(object))?.metadata.uid === uid) return;
    const untilMs = this.#clock.monotonicMs() + GIVEN_UP_AFTER_MS;
    this.#byUid.set(uid, { ownerUid: owner.metadata.uid, object, untilMs });
  }

  /** The owner's objects that the informer shows, and those that it does not show yet. */
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
