import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { AcceptedManifests } from './accepted-manifests.ts';
import type { ManifestProblem, ManifestRules } from './manifest-reader.ts';
import { formatProblem } from './manifest-reader.ts';

/** One source of pods. */
export interface PodSourceReader {
  /** Resolves when the source has been read once, and rejects if it cannot be read. */
  start(): Promise<void> | void;
  stop(): Promise<void> | void;
  problems(): readonly ManifestProblem[];
}

/** A problem as the local API shows it. */
export interface SourceProblem {
  readonly message: string;
  readonly blocking: boolean;
}

export interface PodSourcesOptions {
  readonly readers: readonly PodSourceReader[];
  /** The reader of the pods that the manifest server accepts; undefined without that server. */
  readonly accepted: AcceptedManifests | undefined;
  readonly rules: ManifestRules;
  /** Saves what a source needs after a restart. */
  readonly flush: () => Promise<void>;
  readonly log: Logger;
}

/**
 * All sources of pods of this node. A source that cannot be read is a problem to show, and does not affect the others.
 */
export class PodSources {
  readonly rules: ManifestRules;
  readonly #options: PodSourcesOptions;
  readonly #accepted: PodSourceReader | undefined;
  readonly #failures = new Map<PodSourceReader, string>();
  #acceptedRead: Promise<void> = Promise.resolve();

  constructor(options: PodSourcesOptions) {
    this.#options = options;
    this.rules = options.rules;
    const { accepted } = options;
    this.#accepted =
      accepted === undefined
        ? undefined
        : { start: () => accepted.start(), stop: () => undefined, problems: () => accepted.problems() };
  }

  /** Starts every source. Resolves when each has been read once or cannot be read. */
  async start(): Promise<void> {
    const reads = this.#options.readers.map((reader) => this.#read(reader));
    if (this.#accepted !== undefined) this.#acceptedRead = this.#read(this.#accepted);
    await Promise.all([...reads, this.#acceptedRead]);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#options.readers.map((reader) => reader.stop()));
    await this.#options.flush();
  }

  /**
   * Returns the pods that the manifest server accepts, after `start` and when those accepted earlier were read. It is
   * undefined without that server, and if they cannot be read; then the server must accept none.
   */
  async accepted(): Promise<AcceptedManifests | undefined> {
    await this.#acceptedRead;
    const isUnread = this.#accepted !== undefined && this.#failures.has(this.#accepted);
    return isUnread ? undefined : this.#options.accepted;
  }

  problems(): SourceProblem[] {
    const readers = [...this.#options.readers, ...(this.#accepted === undefined ? [] : [this.#accepted])];
    return [
      ...[...this.#failures.values()].map((message) => ({ message, blocking: true })),
      ...readers
        .flatMap((reader) => reader.problems())
        .map((problem) => ({ message: formatProblem(problem), blocking: problem.severity !== 'warning' })),
    ];
  }

  async #read(reader: PodSourceReader): Promise<void> {
    try {
      await reader.start();
    } catch (cause) {
      const error = errorMessage(cause);
      this.#failures.set(reader, `a source of pods cannot be read, its pods are left as they are: ${error}`);
      this.#options.log.error(
        'a source of pods cannot be read; its pods are left as they are until the agent starts again',
        { error },
      );
    }
  }
}
