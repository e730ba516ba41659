import type { Clock } from '../../../base/clock.ts';

interface Lease {
  readonly image: string;
  imageRef: string | undefined;
  /** A monotonic time; undefined while the image is being pulled. */
  untilMs: number | undefined;
}

/**
 * The duration of a lease. The container appears in the runtime seconds after its image was found, but later if the pod
 * waits for init containers.
 */
const LEASE_MS = 10 * 60_000;

/**
 * Leases images to pods whose container does not exist yet. Between pull and create, the runtime does not show that an
 * image is needed, so a garbage collector that relies on the runtime alone would remove it
 * (kubernetes/kubernetes#18140).
 */
export class ImageLeases {
  readonly #clock: Clock;
  readonly #leases = new Map<string, Lease>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Holds the image without time limit, until `confirm` or `release`. */
  hold(podUid: string, container: string, image: string): void {
    this.#leases.set(`${podUid}/${container}`, { image, imageRef: undefined, untilMs: undefined });
  }

  /** Records that the image is present as `imageRef`. The lease expires from now on. */
  confirm(podUid: string, container: string, imageRef: string): void {
    const lease = this.#leases.get(`${podUid}/${container}`);
    if (lease === undefined) return;
    lease.imageRef = imageRef;
    lease.untilMs = this.#clock.monotonicMs() + LEASE_MS;
  }

  release(podUid: string, container: string): void {
    this.#leases.delete(`${podUid}/${container}`);
  }

  releasePod(podUid: string): void {
    for (const key of this.#leases.keys()) if (key.startsWith(`${podUid}/`)) this.#leases.delete(key);
  }

  /** Returns the names and references that are leased now. */
  leased(): ReadonlySet<string> {
    const nowMs = this.#clock.monotonicMs();
    const held = new Set<string>();
    for (const [key, lease] of this.#leases) {
      if (lease.untilMs !== undefined && lease.untilMs <= nowMs) {
        this.#leases.delete(key);
        continue;
      }
      held.add(lease.image);
      if (lease.imageRef !== undefined) held.add(lease.imageRef);
    }
    return held;
  }
}
