import { BoundedMap } from '../../../base/bounded-map.ts';
import type { ContainerId } from '../../model/ids.ts';

/** A position in a container's log, as its reader knows it. */
export interface LogPosition {
  readonly inode: number;
  readonly bytes: number;
}

/** A client read the whole log of a container, up to its end at that time. */
export interface LogRead {
  readonly end: LogPosition;
  /** A wall-clock time. */
  readonly atMs: number;
}

const MOST_CONTAINERS = 1024;

/**
 * Records which containers clients attached to, and whose log they read. It is lost with the agent. An attachment then
 * begins with new output.
 */
export class AttachHistory {
  readonly #attached = new BoundedMap<ContainerId, true>(MOST_CONTAINERS);
  readonly #reads = new BoundedMap<ContainerId, LogRead>(MOST_CONTAINERS);

  wasAttached(id: ContainerId): boolean {
    return this.#attached.get(id) === true;
  }

  /** Returns the last read. */
  readOf(id: ContainerId): LogRead | undefined {
    return this.#reads.get(id);
  }

  noteAttach(id: ContainerId): void {
    this.#attached.set(id, true);
  }

  noteRead(id: ContainerId, read: LogRead): void {
    this.#reads.set(id, read);
  }
}
