import type { Pod } from '../../../api/core/pod.ts';
import { findContainer } from '../../../api/pod.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus, SandboxRuntimeStatus } from '../../model/runtime-status.ts';
import { newestContainer } from '../../model/runtime-status.ts';

export interface ContainerLookupParts {
  readonly store: { pods(): Pod[]; mirrorOf(pod: Pod): Pod | undefined };
  readonly directory: { visible(): Pod[] };
  readonly cache: { get(uid: PodUid): PodRuntimeStatus | undefined };
}

/** Finds the pod, container and sandbox of a request. */
export class ContainerLookup {
  readonly #parts: ContainerLookupParts;

  constructor(parts: ContainerLookupParts) {
    this.#parts = parts;
  }

  /** Returns the wanted pod with that name, else one that is being stopped. */
  pod(namespace: string, name: string): Pod | undefined {
    const isMeant = ({ metadata }: Pod): boolean => metadata.name === name && metadata.namespace === namespace;
    return this.#parts.store.pods().find(isMeant) ?? this.#parts.directory.visible().find(isMeant);
  }

  /** Whether this is the pod's own UID, or that of its mirror pod in the API. */
  isUidOf(pod: Pod, uid: string): boolean {
    return pod.metadata.uid === uid || this.#parts.store.mirrorOf(pod)?.metadata.uid === uid;
  }

  /**
   * Returns the runtime's container of that name. Throws `missing` if the pod has no such container or it does not run.
   */
  running(pod: Pod, name: string, missing: KubeletError): ContainerRuntimeStatus {
    const status = this.#status(pod);
    const container =
      status === undefined || findContainer(pod, name) === undefined ? undefined : newestContainer(status, name);
    if (container?.state !== 'running') throw missing;
    return container;
  }

  /** Returns all runs of the container that the runtime knows, newest first. */
  attempts(pod: Pod, name: string): ContainerRuntimeStatus[] {
    if (findContainer(pod, name) === undefined) return [];
    return (this.#status(pod)?.containers ?? [])
      .filter((container) => container.name === name)
      .sort((left, right) => right.attempt - left.attempt || right.createdAtMs - left.createdAtMs);
  }

  readySandbox(pod: Pod): SandboxRuntimeStatus | undefined {
    return this.#status(pod)?.sandboxes.find(({ ready }) => ready);
  }

  #status(pod: Pod): PodRuntimeStatus | undefined {
    return this.#parts.cache.get(podUid(pod.metadata.uid));
  }
}

/** As upstream, this is an internal error, because the lookup in the runtime fails and not that of the pod. */
export const containerNotFound = (container: string): KubeletError =>
  new KubeletError('Internal', `container not found (${JSON.stringify(container)})`);
