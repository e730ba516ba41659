import type { Pod } from '../../../api/core/pod.ts';
import type { OomKill } from './oom-report.ts';

/** A pod with its cgroup and its containers, including ended ones. */
export interface OomPod {
  readonly pod: Pod;
  /** The kernel's path of its cgroup. */
  readonly path: string;
  readonly containers: readonly { readonly id: string; readonly name: string }[];
}

/** Whose limit was exceeded. `inside` is a cgroup that the container created. */
export type OomLimit = 'container' | 'inside' | 'pod' | 'allPods' | 'node' | 'unknown';

/** Where a killed process ran. */
export interface OomPlace {
  readonly pod: Pod;
  /** The container; undefined for a sandbox, and for a container that is not known any more. */
  readonly container: { readonly id: string; readonly name: string } | undefined;
  readonly limit: OomLimit;
}

/**
 * Finds the pod and the container of a killed process; undefined if the process belongs to no pod. If the node is itself
 * a container, the kernel's paths begin with the cgroup of that container, which the node cannot see. The outermost
 * match is the right one, because a container may name its own cgroups after those of other pods.
 */
export function locateOomKill(kill: OomKill, pods: Iterable<OomPod>): OomPlace | undefined {
  const { victimGroup } = kill;
  if (victimGroup === undefined) return undefined;
  let found: { readonly at: number; readonly inPod: OomPod } | undefined;
  for (const inPod of pods) {
    const at = `${victimGroup}/`.indexOf(`${inPod.path}/`);
    if (at >= 0 && (found === undefined || at < found.at)) found = { at, inPod };
  }
  if (found === undefined) return undefined;
  const { pod, path, containers } = found.inPod;
  const podPath = victimGroup.slice(0, found.at + path.length);
  const folder = victimGroup.slice(podPath.length + 1).split('/')[0] ?? '';
  const container = containers.find(({ id }) => isGroupOf(folder, id));
  return { pod, container, limit: limitOf(kill, podPath, `${podPath}/${folder}`) };
}

function limitOf({ scope, limitGroup }: OomKill, podPath: string, containerPath: string): OomLimit {
  if (scope === 'system') return 'node';
  if (limitGroup === undefined) return 'unknown';
  if (limitGroup === containerPath) return 'container';
  if (limitGroup === podPath) return 'pod';
  return isAtOrBelow(limitGroup, containerPath) ? 'inside' : isAtOrBelow(podPath, limitGroup) ? 'allPods' : 'unknown';
}

function isAtOrBelow(path: string, parent: string): boolean {
  return path === parent || path.startsWith(`${parent}/`);
}

/**
 * Whether the folder is the cgroup of the container: `<id>`, or `cri-containerd-<id>.scope` with the systemd driver.
 */
function isGroupOf(folder: string, id: string): boolean {
  return id !== '' && (folder === id || folder.endsWith(`-${id}.scope`));
}
