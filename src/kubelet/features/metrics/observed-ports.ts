import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { AgentMetrics } from './agent-metrics.ts';
import type { ContainerType } from './container-life.ts';
import { containerType } from './container-life.ts';
import { imageSizeLabel } from './image-size.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodUid } from '../../model/ids.ts';
import type { Cgroups } from '../../ports/cgroups.ts';
import type { CsiDrivers } from '../../ports/csi-drivers.ts';
import type { ImageRuntime } from '../../ports/images.ts';
import type { ContainerRuntime } from '../../ports/runtime.ts';
import { observedDrivers } from './observed-calls.ts';
import { timed } from './timed.ts';

export interface ObservedPortsParts {
  readonly metrics: AgentMetrics;
  readonly pod: (uid: PodUid) => Pod | undefined;
  /** Called after a pull for a pod, with its start and end. */
  readonly onPulled: (uid: string, fromMs: number, untilMs: number) => void;
}

/** The ports through which the agent acts on the node. */
export interface ActingPorts {
  readonly clock: Clock;
  readonly runtime: ContainerRuntime;
  readonly images: ImageRuntime;
  readonly cgroups: Cgroups;
  readonly csiDrivers: CsiDrivers;
}

/** Wraps the ports, and counts the agent's calls. */
export function observedPorts<Ports extends ActingPorts>(ports: Ports, parts: ObservedPortsParts): Ports {
  return {
    ...ports,
    runtime: observedRuntime(ports, parts),
    images: observedImages(ports, parts),
    cgroups: observedCgroups(ports, parts.metrics),
    csiDrivers: observedDrivers(ports.csiDrivers, ports.clock, parts.metrics),
  };
}

/** Returns an object with some methods replaced. The others are called on the original object. */
function overriding<T extends object>(target: T, replaced: Partial<T>): T {
  const kept = new Map<PropertyKey, unknown>(Object.entries(replaced));
  return new Proxy(target, {
    get: (_, key) => {
      if (kept.has(key)) return kept.get(key);
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      const bound: unknown = value.bind(target);
      kept.set(key, bound);
      return bound;
    },
  });
}

const MOST_NEW_USERS = 1000;

/**
 * Tracks pods whose sandbox with a user namespace is new. The first failure of the sandbox or of one of its containers
 * counts as the error of the pod (upstream: kuberuntime_manager.go SyncPod).
 */
class NewUserNamespaces {
  readonly #pods = new Set<PodUid>();
  readonly #onError: () => void;

  constructor(onError: () => void) {
    this.#onError = onError;
  }

  add(uid: PodUid): void {
    if (this.#pods.size >= MOST_NEW_USERS) this.#pods.clear();
    this.#pods.add(uid);
  }

  fail(uid: PodUid): void {
    if (this.#pods.delete(uid)) this.#onError();
  }
}

/** The limit of containers that were created and not started. A container is started immediately or never. */
const MOST_UNSTARTED = 1000;

function observedRuntime(
  { runtime, clock }: ActingPorts,
  { metrics: { main }, pod }: ObservedPortsParts,
): ContainerRuntime {
  const unstarted = new Map<string, { readonly type: ContainerType; readonly uid: PodUid }>();
  const users = new NewUserNamespaces(() => main.count('kubelet_started_user_namespaced_pods_errors_total'));
  return overriding(runtime, {
    runSandbox: (config, handler, options) => {
      const labels = { runtime_handler: handler };
      const hasUsers = config.security.namespaces.userns?.mode === 'pod';
      main.count('kubelet_started_pods_total');
      if (hasUsers) main.count('kubelet_started_user_namespaced_pods_total');
      return timed(
        clock,
        () => runtime.runSandbox(config, handler, options),
        (durationMs, failed) => {
          main.observe('kubelet_run_podsandbox_duration_seconds', labels, durationMs / 1000);
          if (hasUsers) users.add(config.uid);
          if (!failed) return;
          main.count('kubelet_run_podsandbox_errors_total', labels);
          main.count('kubelet_started_pods_errors_total');
          users.fail(config.uid);
        },
      );
    },
    createContainer: async (sandbox, config, sandboxConfig, options) => {
      const type = containerType(pod(sandboxConfig.uid), config.name);
      const imageVolumes = config.mounts.filter(({ image }) => image !== undefined).length;
      main.count('kubelet_started_containers_total', { container_type: type });
      main.count('kubelet_image_volume_requested_total', {}, imageVolumes);
      try {
        const id = await runtime.createContainer(sandbox, config, sandboxConfig, options);
        main.count('kubelet_image_volume_mounted_succeed_total', {}, imageVolumes);
        if (unstarted.size >= MOST_UNSTARTED) unstarted.clear();
        unstarted.set(id, { type, uid: sandboxConfig.uid });
        return id;
      } catch (error) {
        main.count('kubelet_started_containers_errors_total', { container_type: type, code: 'CreateContainerError' });
        users.fail(sandboxConfig.uid);
        // The runtime puts the name of this error in its message (CRI errors.go).
        if (errorMessage(error).includes('ImageVolumeMountFailed'))
          main.count('kubelet_image_volume_mounted_errors_total', {}, imageVolumes);
        throw error;
      }
    },
    startContainer: (id, options) => {
      const { type, uid } = unstarted.get(id) ?? { type: 'container' as const, uid: undefined };
      unstarted.delete(id);
      return timed(
        clock,
        () => runtime.startContainer(id, options),
        (_, failed) => {
          if (!failed) return;
          main.count('kubelet_started_containers_errors_total', { container_type: type, code: 'RunContainerError' });
          if (uid !== undefined) users.fail(uid);
        },
      );
    },
  });
}

function observedImages(
  { images, clock }: ActingPorts,
  { metrics: { main }, onPulled }: ObservedPortsParts,
): ImageRuntime {
  return overriding(images, {
    pullImage: async (image, pull, options) => {
      const fromMs = clock.nowMs();
      const startMs = clock.monotonicMs();
      const reference = await images.pullImage(image, pull, options);
      const seconds = (clock.monotonicMs() - startMs) / 1000;
      if (pull.sandbox !== undefined) onPulled(pull.sandbox.uid, fromMs, clock.nowMs());
      // The size is read in the background.
      void images
        .imageStatus(reference, pull.runtimeHandler)
        .then(
          (found) => found?.sizeBytes,
          () => undefined,
        )
        .then((bytes) =>
          main.observe(
            'kubelet_image_pull_duration_seconds',
            { image_size_in_bytes: imageSizeLabel(bytes ?? 0) },
            seconds,
          ),
        );
      return reference;
    },
  });
}

function observedCgroups({ cgroups, clock }: ActingPorts, { main }: AgentMetrics): Cgroups {
  const note =
    (operation: string) =>
    (durationMs: number): void =>
      main.observe('kubelet_cgroup_manager_duration_seconds', { operation_type: operation }, durationMs / 1000);
  return overriding(cgroups, {
    ensure: (name, limits) => timed(clock, () => cgroups.ensure(name, limits), note('create')),
    update: (name, limits) => timed(clock, () => cgroups.update(name, limits), note('update')),
    remove: (name) => timed(clock, () => cgroups.remove(name), note('destroy')),
  });
}
