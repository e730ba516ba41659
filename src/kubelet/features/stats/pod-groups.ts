import type { PodRuntimeStatus } from '../../model/runtime-status.ts';

/** A container or a sandbox with its group. */
export interface MeasuredContainer {
  readonly id: string;
  /** The name in the pod's spec; empty for a sandbox. */
  readonly name: string;
  readonly image: string;
  readonly path: string;
  readonly createdAtMs: number;
}

/** The measurable parts of a pod: its running containers, and its groups. */
export interface MeasuredPod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** The path; undefined if pods have no cgroups of their own (cgroupsPerQOS is off). */
  readonly path: string | undefined;
  readonly startedAtMs: number;
  readonly sandbox: MeasuredContainer | undefined;
  readonly containers: readonly MeasuredContainer[];
}

/**
 * Finds the groups of containers: below that of the pod, by names that contain the container's id (`<id>`,
 * `cri-containerd-<id>.scope`).
 */
export class ContainerPaths {
  readonly #children: (path: string) => string[];
  #paths = new Map<string, string>();

  constructor(children: (path: string) => string[]) {
    this.#children = children;
  }

  /**
   * Returns the group of a container; undefined for a container that does not run. The folder is listed only for
   * unknown ids.
   */
  find(parent: string, id: string): string | undefined {
    const known = this.#paths.get(id);
    if (known !== undefined) return known;
    const name = this.#children(parent).find((child) => child.includes(id));
    if (name === undefined) return undefined;
    const path = parent === '/' ? `/${name}` : `${parent}/${name}`;
    this.#paths.set(id, path);
    return path;
  }

  retain(ids: Pick<ReadonlySet<string>, 'has'>): void {
    for (const id of this.#paths.keys()) if (!ids.has(id)) this.#paths.delete(id);
  }
}

export interface PodPlace {
  /** The path; undefined if pods have no cgroups of their own. */
  readonly path: string | undefined;
  /** The parent of the containers' groups. */
  readonly parent: string;
}

/**
 * Returns the running containers of one pod; undefined if there are none. Of containers with the same name, the newest
 * is used.
 */
export function measuredPod(status: PodRuntimeStatus, place: PodPlace, paths: ContainerPaths): MeasuredPod | undefined {
  const sandbox = status.sandboxes.find(({ ready }) => ready);
  if (sandbox === undefined) return undefined;
  const sandboxPath = paths.find(place.parent, sandbox.id);
  const containers = status.containers.flatMap((container) => {
    if (container.state !== 'running') return [];
    const path = paths.find(place.parent, container.id);
    return path === undefined
      ? []
      : [
          {
            id: container.id as string,
            name: container.name,
            image: container.image,
            path,
            createdAtMs: container.createdAtMs,
          },
        ];
  });
  return {
    uid: status.uid,
    name: status.name,
    namespace: status.namespace,
    path: place.path,
    startedAtMs: sandbox.createdAtMs,
    sandbox:
      sandboxPath === undefined
        ? undefined
        : { id: sandbox.id, name: '', image: '', path: sandboxPath, createdAtMs: sandbox.createdAtMs },
    containers,
  };
}
