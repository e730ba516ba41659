import type { EndpointSubset } from '../../../api/core/endpoints.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Service } from '../../../api/core/service.ts';
import type { MemberCounts } from '../../controller-runtime/member-tally.ts';
import { endpointsOf } from '../../controller-runtime/service-endpoints.ts';
import type { TriggerScope } from '../../controller-runtime/trigger-times.ts';
import { AddressGroups, listedAddress } from './address-groups.ts';
import type { ListedAddress } from './address-groups.ts';

/** What one pod of the service contributed. */
export interface ListedPod {
  readonly uid: string;
  readonly listed: ListedAddress | undefined;
}

/**
 * The entries of one service's pods, sorted as its Endpoints list them. A change of a pod moves only its own entry.
 * Reading the subsets costs at most the entries that Endpoints may hold, however many pods the service has. So no
 * further index decides which of these entries changed: the object is written whole.
 */
export class ListedPods implements MemberCounts<Service, Pod, ListedPod> {
  readonly #service: Service;
  readonly #groups = new AddressGroups();
  readonly #pods = new Map<string, Pod>();
  #changed: Set<string> | undefined;

  constructor(service: Service) {
    this.#service = service;
  }

  isFor({ metadata }: Service): boolean {
    return metadata.resourceVersion === this.#service.metadata.resourceVersion;
  }

  add(pod: Pod): ListedPod {
    const { uid } = pod.metadata;
    this.#pods.set(uid, pod);
    this.#changed?.add(uid);
    const [endpoint] = endpointsOf(this.#service, [pod]);
    const listed = endpoint === undefined ? undefined : listedAddress(this.#service, endpoint);
    if (listed !== undefined) this.#groups.add(listed);
    return { uid, listed };
  }

  remove({ uid, listed }: ListedPod): void {
    this.#pods.delete(uid);
    this.#changed?.add(uid);
    if (listed !== undefined) this.#groups.delete(listed);
  }

  /** The number of selected pods, also of those that are not listed. */
  get size(): number {
    return this.#pods.size;
  }

  get subsets(): EndpointSubset[] {
    return this.#groups.subsets;
  }

  /** Returns the pods that changed since the last call, and all of them at the first call. */
  takeChanged(): TriggerScope {
    const changed = this.#changed;
    this.#changed = new Set();
    if (changed === undefined) return { pods: [...this.#pods.values()] };
    return { pods: [...changed].flatMap((uid) => this.#pods.get(uid) ?? []), uids: changed };
  }
}
