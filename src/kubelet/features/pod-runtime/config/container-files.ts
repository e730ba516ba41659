import type { Pod } from '../../../../api/core/pod.ts';
import { isHostNetwork } from '../../../../api/pod.ts';
import type { AnyContainer } from '../../../../api/pod.ts';
import { isKind } from '../../../../base/errors.ts';
import type { Random } from '../../../../base/random.ts';
import type { HostFiles } from '../../../ports/host-files.ts';
import { hostNetworkHostsContent, managedHostsContent } from './hosts-file.ts';
import type { ContainerSettings } from './node-facts.ts';
import { podLogDirectory } from './sandbox-config.ts';

const logNumber = /^(\d+)\.log(\..*)?$/;

export interface ContainerFilesOptions {
  readonly files: HostFiles;
  readonly random: Random;
  readonly settings: Pick<ContainerSettings, 'rootDir' | 'podLogsDir' | 'clusterDomain'>;
}

/** The files prepared on the host for one start of a container. */
export interface PreparedFiles {
  /** The lowest attempt whose log file does not exist yet. */
  readonly nextAttempt: number;
  /**
   * The termination log. It is undefined if the container has no termination message path, or the file could not be
   * created.
   */
  readonly terminationLog: string | undefined;
}

/** Manages the agent's own files of a pod: log directories, termination logs, /etc/hosts. */
export class ContainerFiles {
  readonly #files: HostFiles;
  readonly #random: Random;
  readonly #settings: ContainerFilesOptions['settings'];

  constructor(options: ContainerFilesOptions) {
    this.#files = options.files;
    this.#random = options.random;
    this.#settings = options.settings;
  }

  podDir(pod: Pod): string {
    return `${this.#settings.rootDir}/pods/${pod.metadata.uid}`;
  }

  /** Prepares the files of a container. It needs nothing of the sandbox, so it runs while that is being created. */
  async prepare(pod: Pod, container: AnyContainer): Promise<PreparedFiles> {
    const [nextAttempt, terminationLog] = await Promise.all([
      this.#logDirectory(pod, container),
      this.#terminationLog(pod, container),
    ]);
    return { nextAttempt, terminationLog };
  }

  async #logDirectory(pod: Pod, container: AnyContainer): Promise<number> {
    const directory = `${podLogDirectory(pod, this.#settings.podLogsDir)}/${container.name}`;
    await this.#files.makeDirectory(directory, 0o755);
    const names = await this.#files.list(directory);
    return names.reduce((next, name) => Math.max(next, Number(logNumber.exec(name)?.[1] ?? -1) + 1), 0);
  }

  /**
   * Creates the termination log, world-writable because the container's user writes it. If the node cannot create it,
   * the container starts without.
   */
  async #terminationLog(pod: Pod, container: AnyContainer): Promise<string | undefined> {
    if ((container.terminationMessagePath ?? '') === '') return undefined;
    const directory = `${this.podDir(pod)}/containers/${container.name}`;
    const path = `${directory}/${Math.floor(this.#random.next() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')}`;
    await this.#files.makeDirectory(directory, 0o750);
    await this.#files.writeFile(path, '', 0o666);
    // The umask reduces the mode given on creation, so the mode is set again.
    await this.#files.chmod(path, 0o666);
    return path;
  }

  /** Writes the pod's /etc/hosts in place, because running containers have this very file mounted. */
  async writeHostsFile(pod: Pod, podIps: readonly string[]): Promise<string> {
    const path = `${this.podDir(pod)}/etc-hosts`;
    const content = isHostNetwork(pod)
      ? hostNetworkHostsContent(pod, await this.#nodeHosts())
      : managedHostsContent(pod, podIps, this.#settings.clusterDomain);
    await this.#files.writeFile(path, content, 0o644);
    await this.#files.chmod(path, 0o644);
    return path;
  }

  async #nodeHosts(): Promise<string> {
    try {
      return await this.#files.readText('/etc/hosts');
    } catch (error) {
      if (isKind(error, 'NotFound')) return '';
      throw error;
    }
  }
}
