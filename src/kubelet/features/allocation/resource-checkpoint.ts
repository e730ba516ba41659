import type { ResourceRequirements } from '../../../api/core/resource-requirements.ts';
import type { PodAllocation } from '../../../api/pod-allocation.ts';
import { sameRequirements } from '../../../api/pod-allocation.ts';
import type { PodUid } from '../../model/ids.ts';
import type { StateText } from '../../ports/state-text.ts';
import { decodeCheckpoint, encodeCheckpoint } from './checkpoint-format.ts';

/**
 * The resources of all pods of the node, in one of upstream's checkpoint files. The state in memory is authoritative.
 * The file is written soon after a change, and at the latest when `flush` resolves. If the file is invalid, its content
 * is rebuilt from the specs and the runtime.
 */
export class ResourceCheckpoint {
  readonly #file: StateText;
  readonly #pods: Map<string, PodAllocation>;

  constructor(file: StateText) {
    this.#file = file;
    const saved = file.text === undefined ? new Map() : decodeCheckpoint(file.text);
    if (saved === undefined) file.setAside('its checksum or its form is wrong');
    this.#pods = new Map(saved);
    file.follow(() => encodeCheckpoint(this.#pods));
  }

  get(uid: PodUid): PodAllocation | undefined {
    return this.#pods.get(uid);
  }

  set(uid: PodUid, allocation: PodAllocation): void {
    this.#pods.set(uid, allocation);
    this.#file.changed();
  }

  container(uid: PodUid, name: string): ResourceRequirements | undefined {
    const { containers } = this.#pods.get(uid) ?? { containers: {} };
    return Object.hasOwn(containers, name) ? containers[name] : undefined;
  }

  podLevel(uid: PodUid): ResourceRequirements | undefined {
    return this.#pods.get(uid)?.pod;
  }

  /** Sets the resources of a container. Returns whether the record changed. */
  setContainer(uid: PodUid, name: string, resources: ResourceRequirements): boolean {
    const known = this.#pods.get(uid);
    const before = this.container(uid, name);
    if (before !== undefined && sameRequirements(before, resources)) return false;
    this.set(uid, { ...known, containers: { ...known?.containers, [name]: resources } });
    return true;
  }

  setPodLevel(uid: PodUid, resources: ResourceRequirements): void {
    const known = this.#pods.get(uid);
    if (known?.pod !== undefined && sameRequirements(known.pod, resources)) return;
    this.set(uid, { containers: {}, ...known, pod: resources });
  }

  /**
   * Removes the pod without causing a write: the next write contains the removal. Entries of unknown pods are dropped
   * when all sources have reported (`retain`).
   */
  remove(uid: PodUid): void {
    this.#pods.delete(uid);
  }

  retain(known: Pick<ReadonlySet<PodUid>, 'has'>): void {
    for (const uid of [...this.#pods.keys()]) if (!known.has(uid as PodUid)) this.#pods.delete(uid);
  }

  /** Resolves when the newest state is on disk or could not be written. */
  flush(): Promise<void> {
    return this.#file.flush();
  }
}
