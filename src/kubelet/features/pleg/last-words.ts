import { withDeadline, type Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import type { RuntimeEvent } from '../../ports/runtime.ts';

/** A message that takes longer is left to the runtime's own answer, which is asked for later. */
const READING_LIMIT_MS = 1000;

export interface LastWordsOptions {
  clock: Clock;
  log: Logger;
  /** What a container that ended left to say, behind the runtime's own words. Reads files of the node, asks no runtime. */
  read: (ended: ContainerRuntimeStatus) => Promise<string>;
}

type Snapshot = NonNullable<RuntimeEvent['pod']>;

/**
 * Gives an exit that an event told its termination message before anybody hears of the exit (upstream reads both at once): whoever sees
 * that a container ended may read its message in the same status. No event carries it.
 */
export class LastWords {
  readonly #options: LastWordsOptions;

  constructor(options: LastWordsOptions) {
    this.#options = options;
  }

  /** Never rejects: what cannot be read in time has no message yet. */
  async of(ended: ContainerRuntimeStatus): Promise<string> {
    const { clock, log, read } = this.#options;
    try {
      return await withDeadline({ clock, limitMs: READING_LIMIT_MS, op: 'read termination message' }, () =>
        read(ended),
      );
    } catch (error) {
      log.debug(2, 'the message of a container that ended could not be read at once', {
        container: ended.name,
        error: errorMessage(error),
      });
      return ended.message;
    }
  }

  /** The snapshot with the messages of what it shows as ended and is news. */
  async inSnapshot(snapshot: Snapshot, isNews: (ended: ContainerRuntimeStatus) => boolean): Promise<Snapshot> {
    const complete = async (container: ContainerRuntimeStatus): Promise<ContainerRuntimeStatus> =>
      isNews(container) ? { ...container, message: await this.of(container) } : container;
    return { ...snapshot, containers: await Promise.all(snapshot.containers.map(complete)) };
  }
}
