import type { Pod } from '../../../api/core/pod.ts';
import type { Service } from '../../../api/core/service.ts';
import type { MemberCounts, MemberTally } from '../../controller-runtime/member-tally.ts';

export type ServiceTally = MemberTally<Service, Pod, Pod, ServiceMembers>;

/** The pods of one service, and those that have changed since the last pass. */
export class ServiceMembers implements MemberCounts<Service, Pod, Pod> {
  readonly #service: Service;
  readonly #pods = new Map<string, Pod>();
  #changed: Set<string> | undefined;

  constructor(service: Service) {
    this.#service = service;
  }

  isFor({ metadata }: Service): boolean {
    return metadata.resourceVersion === this.#service.metadata.resourceVersion;
  }

  add(pod: Pod): Pod {
    this.#pods.set(pod.metadata.uid, pod);
    this.#changed?.add(pod.metadata.uid);
    return pod;
  }

  remove({ metadata: { uid } }: Pod): void {
    this.#pods.delete(uid);
    this.#changed?.add(uid);
  }

  get size(): number {
    return this.#pods.size;
  }

  get all(): Pod[] {
    return [...this.#pods.values()];
  }

  /** Returns the members with these UIDs. */
  among(uids: Iterable<string>): Pod[] {
    return [...uids].map((uid) => this.#pods.get(uid)).filter((pod) => pod !== undefined);
  }

  /**
   * Returns the UIDs of pods that were added, changed or removed since the last call, or undefined at the first call.
   */
  takeChanged(): ReadonlySet<string> | undefined {
    const changed = this.#changed;
    this.#changed = new Set();
    return changed;
  }
}
