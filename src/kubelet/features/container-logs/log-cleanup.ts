import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import { isLogFolder } from './log-folder.ts';
import type { PodNames } from './log-layout.ts';
import {
  CONTAINER_LINKS_DIR,
  containerIdOfLink,
  logLinkName,
  parseLogFileName,
  podLogDirectory,
  podUidOfLogDirectory,
} from './log-layout.ts';
import { selectOrphanedAttempts } from './rotation-select.ts';

export interface LoggedContainer {
  readonly id: string;
  readonly name: string;
  readonly attempt: number;
}

/** Removes the logs of removed containers and pods, and leftover logs. Failures are logged and do not stop the rest. */
export class LogCleanup {
  readonly #files: HostFiles;
  readonly #log: Logger;
  readonly #podLogsDir: string;
  readonly #linksDir: string;

  constructor(options: { files: HostFiles; log: Logger; podLogsDir: string; linksDir?: string }) {
    this.#files = options.files;
    this.#log = options.log;
    this.#podLogsDir = options.podLogsDir;
    this.#linksDir = options.linksDir ?? CONTAINER_LINKS_DIR;
  }

  /** Removes all files of that attempt, including rotated ones, and its link (upstream: removeContainerLog). */
  async removeContainer(pod: PodNames, container: LoggedContainer): Promise<void> {
    const directory = `${podLogDirectory(this.#podLogsDir, pod)}/${container.name}`;
    await this.#try(directory, async () => {
      if (!(await isLogFolder(this.#files, directory))) return;
      for (const name of await this.#files.list(directory)) {
        if (parseLogFileName(name)?.attempt === container.attempt) await this.#files.remove(`${directory}/${name}`);
      }
    });
    await this.#removeLink(pod, container);
  }

  /** Removes all logs of a removed pod. If `names` is undefined, it searches for the directory. */
  async removePod(uid: string, names: PodNames | undefined, containers: readonly LoggedContainer[]): Promise<void> {
    const directories =
      names === undefined
        ? (await this.#list(this.#podLogsDir))
            .filter((name) => podUidOfLogDirectory(name) === uid)
            .map((name) => `${this.#podLogsDir}/${name}`)
        : [podLogDirectory(this.#podLogsDir, names)];
    await Promise.all([
      ...directories.map((directory) => this.#try(directory, () => this.#files.removeTree(directory))),
      ...(names === undefined ? [] : containers.map((container) => this.#removeLink(names, container))),
    ]);
  }

  /**
   * Removes directories of removed pods, and links without a log. The link of a running container is kept, because it
   * may be about to reopen its log.
   */
  async sweep(isGone: (uid: string) => boolean, isRunning: (containerId: string) => boolean): Promise<void> {
    for (const name of await this.#list(this.#podLogsDir)) {
      const directory = `${this.#podLogsDir}/${name}`;
      const uid = podUidOfLogDirectory(name);
      if (uid !== undefined && isGone(uid)) await this.#try(directory, () => this.#files.removeTree(directory));
    }
    for (const name of await this.#list(this.#linksDir)) {
      const path = `${this.#linksDir}/${name}`;
      if (!name.endsWith('.log')) continue;
      await this.#try(path, async () => {
        if ((await this.#files.lstat(path))?.type !== 'symlink' || (await this.#files.stat(path)) !== undefined) return;
        const id = containerIdOfLink(name);
        if (id === undefined || !isRunning(id)) await this.#files.remove(path);
      });
    }
  }

  /**
   * Removes the logs of attempts that have no container in the runtime, except for the newest two, so that a container
   * that crashes for days does not fill the disk (kubernetes/kubernetes#91765). `attemptsOf` returns the attempts that
   * exist.
   */
  async sweepAttempts(
    pod: PodNames,
    containerNames: readonly string[],
    attemptsOf: (container: string) => ReadonlySet<number>,
  ): Promise<void> {
    for (const container of containerNames) {
      const directory = `${podLogDirectory(this.#podLogsDir, pod)}/${container}`;
      await this.#try(directory, async () => {
        if (!(await isLogFolder(this.#files, directory))) return;
        for (const name of selectOrphanedAttempts(await this.#files.list(directory), attemptsOf(container)))
          await this.#files.remove(`${directory}/${name}`);
      });
    }
  }

  async #removeLink(pod: PodNames, container: LoggedContainer): Promise<void> {
    const path = `${this.#linksDir}/${logLinkName(pod, container.name, container.id)}`;
    await this.#try(path, () => this.#files.remove(path));
  }

  async #list(directory: string): Promise<string[]> {
    let names: string[] = [];
    await this.#try(directory, async () => {
      names = await this.#files.list(directory);
    });
    return names;
  }

  async #try(path: string, action: () => Promise<void>): Promise<void> {
    try {
      await action();
    } catch (error) {
      this.#log.warn('could not remove logs', { path, error: errorMessage(error) });
    }
  }
}
