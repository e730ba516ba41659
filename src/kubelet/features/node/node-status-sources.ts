import type { NodeCondition } from '../../../api/core/node.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import type { Pressure } from './node-conditions.ts';

/** The state of the node that other features contribute. The status is computed from it each time. */
export interface NodeStatusSources {
  pressure(): Pressure;
  /** Returns the conditions of the machine that the kernel reported. */
  machineConditions(): readonly Pick<NodeCondition, 'type' | 'status' | 'reason' | 'message'>[];
  /**
   * Returns why the storage of the node cannot be used yet, or undefined if it can. It prevents the node from becoming
   * ready, but does not change a ready node.
   */
  storageProblem(): string | undefined;
  /** Returns why the node accepts no pods while it is shutting down. */
  shutdownProblem(): string | undefined;
  /** Returns the devices of device plugins. A removed resource keeps a capacity of zero. */
  devices(): {
    readonly capacity: ResourceList;
    readonly allocatable: ResourceList;
    readonly removed: readonly string[];
  };
  /** Returns the volumes in use, sorted; undefined until the volumes of running pods are known. */
  volumesInUse(): readonly string[] | undefined;
  /**
   * Called with the volumes that the API server knows to be in use. If the controller attaches volumes, only these may
   * be mounted.
   */
  volumesReported(volumes: readonly string[]): void;
}

/** A node without pressure. */
export const noPressure: Pressure = { memory: false, disk: false, pid: false };

/** Notifies that a source of the status changed, so that the status is computed immediately. */
export class NodeStatusChanges {
  readonly #listeners = new Set<() => void>();

  notify(): void {
    for (const listener of this.#listeners) listener();
  }

  /** Calls `listener` after each change. Returns a function that unsubscribes. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }
}
