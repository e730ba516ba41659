import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { PodNames } from './log-layout.ts';
import { CONTAINER_LINKS_DIR, logLinkName } from './log-layout.ts';

/** Creates links in /var/log/containers, where log shippers find the logs of all containers of a node. */
export class LogLinks {
  readonly #files: HostFiles;
  readonly #log: Logger;
  readonly #directory: string;

  constructor(options: { files: HostFiles; log: Logger; directory?: string }) {
    this.#files = options.files;
    this.#log = options.log;
    this.#directory = options.directory ?? CONTAINER_LINKS_DIR;
  }

  /**
   * Links the log of a container that has just started. Never rejects, because a container also runs without its link.
   */
  async link(
    pod: Pick<PodNames, 'name' | 'namespace'>,
    status: Pick<ContainerRuntimeStatus, 'id' | 'name' | 'logPath'>,
  ): Promise<void> {
    const path = `${this.#directory}/${logLinkName(pod, status.name, status.id)}`;
    try {
      // A runtime that logs to journald has no file to link to.
      if (status.logPath === '' || (await this.#files.lstat(status.logPath)) === undefined) return;
      await this.#symlink(status.logPath, path);
    } catch (error) {
      this.#log.warn('could not link the log of a container', {
        path,
        logPath: status.logPath,
        error: errorMessage(error),
      });
    }
  }

  async #symlink(target: string, path: string): Promise<void> {
    try {
      await this.#files.symlink(target, path);
    } catch (error) {
      if (isKind(error, 'NotFound')) {
        await this.#files.makeDirectory(this.#directory, 0o755);
        await this.#files.symlink(target, path);
      } else if (!isKind(error, 'AlreadyExists') || (await this.#files.lstat(path))?.type !== 'symlink') throw error;
      else if ((await this.#files.readLink(path)) !== target) {
        await this.#files.remove(path);
        await this.#files.symlink(target, path);
      }
    }
  }
}
