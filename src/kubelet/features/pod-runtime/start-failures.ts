import type { PodUid } from '../../model/ids.ts';

export interface StartFailure {
  /** The waiting reason, from api/reasons.ts. */
  readonly reason: string;
  readonly message: string;
  /** The wall milliseconds of the next attempt, if it is scheduled. */
  readonly retryAtMs?: number;
}

/**
 * Stores why the last attempt to start a container failed, until one succeeds (upstream: kubelet/reason_cache.go).
 * Status and explain read it.
 */
export class StartFailures {
  readonly #pods = new Map<PodUid, Map<string, StartFailure>>();

  get(uid: PodUid, container: string): StartFailure | undefined {
    return this.#pods.get(uid)?.get(container);
  }

  ofPod(uid: PodUid): ReadonlyMap<string, StartFailure> {
    return this.#pods.get(uid) ?? new Map<string, StartFailure>();
  }

  set(uid: PodUid, container: string, failure: StartFailure): void {
    const known = this.#pods.get(uid);
    if (known === undefined) this.#pods.set(uid, new Map([[container, failure]]));
    else known.set(container, failure);
  }

  clear(uid: PodUid, container: string): void {
    const known = this.#pods.get(uid);
    known?.delete(container);
    if (known?.size === 0) this.#pods.delete(uid);
  }

  forgetPod(uid: PodUid): void {
    this.#pods.delete(uid);
  }
}
