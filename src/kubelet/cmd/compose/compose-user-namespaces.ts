import { UserNamespaces } from '../../features/user-namespaces/user-namespaces.ts';
import type { LoopContext } from './compose-context.ts';

/** Pods with users of their own: which handlers can, the runtime's status says; which ids are in use, the files say, and what runs. */
export function composeUserNamespaces({ settings, world, knowledge, actors }: LoopContext): UserNamespaces {
  const { config, rootDir } = settings;
  const { files, processes, random, log } = world;
  return new UserNamespaces({
    rootDir,
    idsPerPod: config.runtime.userNamespaceIdsPerPod,
    maxPods: config.node.maxPods,
    files,
    processes,
    random,
    log,
    handlers: () => new Map((actors.monitor.health?.handlers ?? []).map((handler) => [handler.name, handler])),
    runtimePods: () => knowledge.cache.all(),
  });
}
