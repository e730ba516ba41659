import type { Clock } from '../../../base/clock.ts';

interface Lease {
  readonly image: string;
  imageRef: string | undefined;
  /** Monotonic; undefined while the image is being fetched. */
  untilMs: number | undefined;
}

/**
 * From finding an image until its container appears in the runtime takes seconds; a pod that waits for init containers
 * takes longer.
 */
const LEASE_MS = 10 * 60_000;

/**
 * Images that are leased to a pod and have no container yet. Between pull and create nothing in the runtime shows that
 * an image is needed, and a garbage collector that relies on the runtime alone removes it
 * (kubernetes/kubernetes#18140).
 */
export class ImageLeases {
  readonly #clock: Clock;
  readonly #leases = new Map<string, Lease>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Held without limit until `confirm` or `release`. */
  hold(podUid: string, container: string, image: string): void {
    this.#leases.set(`${podUid}/${container}`, { image, imageRef: undefined, untilMs: undefined });
  }

  /** The image is present, as `imageRef`; from now on the lease expires. */
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

  /** Names and references under lease now. */
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
