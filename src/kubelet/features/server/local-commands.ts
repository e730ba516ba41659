import type { PodStatus } from '../../../api/core/pod-status.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { findContainer, podKey } from '../../../api/pod.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { ContainerRuntime } from '../../ports/runtime.ts';
import type { ContainerLookup } from './container-lookup.ts';
import type { LocalApiSources } from './local-api.ts';
import type { LogQuery } from './log-query.ts';
import type { ContainerTarget } from './pod-routes.ts';

/** Reads logs of containers. Rejects with NotFound or Invalid if there is no log. */
export interface ContainerLogSource {
  read(
    target: {
      pod: { uid: string; name: string; namespace: string };
      container: string;
      runtime: PodRuntimeStatus | undefined;
      waitingReason?: string;
    },
    query: LogQuery,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array>>;
}

export interface LocalCommandParts {
  readonly lookup: Pick<ContainerLookup, 'pod' | 'running'>;
  readonly cache: { get(uid: PodUid): PodRuntimeStatus | undefined };
  readonly statuses: { get(uid: PodUid): PodStatus | undefined };
  readonly runtime: Pick<ContainerRuntime, 'execUrl'>;
  readonly logs: ContainerLogSource;
}

/** Serves logs of containers and commands in them, for clients that name a pod and a container. */
export function createLocalCommands(parts: LocalCommandParts): Pick<LocalApiSources, 'containerLog' | 'exec'> {
  const { lookup, cache, statuses, runtime, logs } = parts;
  const podOf = (target: ContainerTarget): Pod => {
    const pod = lookup.pod(target.namespace, target.pod);
    if (pod === undefined) throw new KubeletError('NotFound', `pod "${target.pod}" does not exist`);
    return pod;
  };
  return {
    containerLog: async (target, query, signal) => {
      const pod = podOf(target);
      const { container } = target;
      const { uid, name, namespace } = pod.metadata;
      if (findContainer(pod, container) === undefined)
        throw new KubeletError('NotFound', `container "${container}" not found in pod "${name}"`);
      const waitingReason = waitingReasonOf(statuses.get(podUid(uid)), container);
      const runtimeStatus = cache.get(podUid(uid));
      return logs.read(
        { pod: { uid, name, namespace }, container, runtime: runtimeStatus, waitingReason },
        query,
        signal,
      );
    },
    exec: async (target, { command, tty, stdin }) => {
      const pod = podOf(target);
      const name = target.container === '' ? (pod.spec.containers[0]?.name ?? '') : target.container;
      const missing = new KubeletError('NotFound', `container "${name}" of pod ${podKey(pod)} is not running`);
      const { id } = lookup.running(pod, name, missing);
      return runtime.execUrl({ id, command, tty, stdin, stdout: true, stderr: !tty });
    },
  };
}

function waitingReasonOf(status: PodStatus | undefined, container: string): string | undefined {
  const all = [
    ...(status?.initContainerStatuses ?? []),
    ...(status?.containerStatuses ?? []),
    ...(status?.ephemeralContainerStatuses ?? []),
  ];
  return all.find(({ name }) => name === container)?.state?.waiting?.reason;
}
