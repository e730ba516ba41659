import type { NodeCondition } from '../../../api/core/node.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import type { Pressure } from './node-conditions.ts';

/** State of the node that other features contribute. The status is computed from them each time. */
export interface NodeStatusSources {
  pressure(): Pressure;
  /** Problems of the machine that the kernel reported. */
  machineConditions(): readonly Pick<NodeCondition, 'type' | 'status' | 'reason' | 'message'>[];
  /**
   * Why the storage of the node cannot be used yet; undefined when it can. It keeps the node from becoming ready, but
   * does not change a node that is ready.
   */
  storageProblem(): string | undefined;
  /** Why the node accepts no pods: it is being shut down. */
  shutdownProblem(): string | undefined;
  /** Devices of device plugins; a removed resource keeps a capacity of zero. */
  devices(): {
    readonly capacity: ResourceList;
    readonly allocatable: ResourceList;
    readonly removed: readonly string[];
  };
  /** Sorted; undefined until the volumes of running pods are known. */
  volumesInUse(): readonly string[] | undefined;
  /**
   * Called with the volumes that the API server knows to be in use. Only those may be mounted when the controller
   * attaches them.
   */
  volumesReported(volumes: readonly string[]): void;
}

/** A node without pressure. */
export const noPressure: Pressure = { memory: false, disk: false, pid: false };

/** Features report here that a source changed, so that the status is computed at once. */
export class NodeStatusChanges {
  readonly #listeners = new Set<() => void>();

  notify(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Calls `listener` after each change; returns the function that unsubscribes. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
