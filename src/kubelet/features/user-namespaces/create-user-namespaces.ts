import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { Processes } from '../../ports/processes.ts';
import type { RuntimeHealth } from '../../ports/runtime.ts';
import { UserNamespaces } from './user-namespaces.ts';

export interface CreateUserNamespacesParts {
  readonly config: Pick<KubeletConfig, 'runtime' | 'node'>;
  readonly rootDir: string;
  readonly files: HostFiles;
  readonly processes: Processes;
  readonly health: () => RuntimeHealth | undefined;
  readonly runtimePods: () => Iterable<PodRuntimeStatus>;
  readonly random: Random;
  readonly log: Logger;
}

/**
 * Creates user namespaces for pods. The runtime's status shows which handlers support them. The files and the running
 * pods show which ids are in use.
 */
export function createUserNamespaces({
  config,
  rootDir,
  files,
  processes,
  health,
  runtimePods,
  random,
  log,
}: CreateUserNamespacesParts): UserNamespaces {
  return new UserNamespaces({
    rootDir,
    idsPerPod: config.runtime.userNamespaceIdsPerPod,
    maxPods: config.node.maxPods,
    files,
    processes,
    random,
    log,
    handlers: () => new Map((health()?.handlers ?? []).map((handler) => [handler.name, handler])),
    runtimePods,
  });
}
