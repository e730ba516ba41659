import type { Clock } from '../../../base/clock.ts';
import { withDeadline } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import type { RuntimeEvent } from '../../ports/runtime.ts';

/** The time limit of a read. A later message comes with the runtime's status. */
const READING_LIMIT_MS = 1000;

export interface TerminationMessageReaderOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /**
   * Reads the termination message of an ended container from files of the node, without the runtime's own message and
   * without a call to the runtime.
   */
  readonly read: (ended: ContainerRuntimeStatus) => Promise<string>;
}

type Snapshot = NonNullable<RuntimeEvent['pod']>;

/**
 * Adds the termination message to an exit that an event reported, before the exit is published (upstream reads both at
 * the same time). Clients that see the end of a container may read its message in the same status, and events do not
 * contain it.
 */
export class TerminationMessageReader {
  readonly #options: TerminationMessageReaderOptions;

  constructor(options: TerminationMessageReaderOptions) {
    this.#options = options;
  }

  /** Returns the container with its message. Never rejects: a message that cannot be read in time is left out. */
  async of(ended: ContainerRuntimeStatus): Promise<string> {
    const { clock, log, read } = this.#options;
    try {
      return await withDeadline({ clock, limitMs: READING_LIMIT_MS, op: 'read termination message' }, () =>
        read(ended),
      );
    } catch (error) {
      log.debug(2, 'the termination message of a container could not be read yet', {
        container: ended.name,
        error: errorMessage(error),
      });
      return ended.message;
    }
  }

  /** Returns the snapshot with the messages of newly ended containers. */
  async inSnapshot(snapshot: Snapshot, isNews: (ended: ContainerRuntimeStatus) => boolean): Promise<Snapshot> {
    const complete = async (container: ContainerRuntimeStatus): Promise<ContainerRuntimeStatus> =>
      isNews(container) ? { ...container, message: await this.of(container) } : container;
    return { ...snapshot, containers: await Promise.all(snapshot.containers.map(complete)) };
  }
}
