import type { Pressure } from './node-conditions.ts';

/**
 * What other features know of the node's state. Each fills in its own when it is composed, and calls `changed` whenever it would answer otherwise:
 * the status is told at once then.
 */
export interface NodeSeats {
  pressure: () => Pressure;
  /** Why the storage of the node cannot be used yet; undefined when it can. It keeps the node from becoming ready; one that is ready stays so. */
  storageProblem: () => string | undefined;
  /** Why the node takes no pods: it is being shut down. */
  shutdownProblem: () => string | undefined;
  /** Sorted; undefined before the volumes of pods that run are known. */
  volumesInUse: () => readonly string[] | undefined;
  /** Called with the volumes that the API server knows to be in use: only those may be mounted when the controller attaches them. */
  volumesReported: (volumes: readonly string[]) => void;
  changed: () => void;
}

/** A node that lacks nothing and has no volumes that anybody attaches. */
export const createNodeSeats = (): NodeSeats => ({
  pressure: () => ({ memory: false, disk: false, pid: false }),
  storageProblem: () => undefined,
  shutdownProblem: () => undefined,
  volumesInUse: () => undefined,
  volumesReported: () => undefined,
  changed: () => undefined,
});
