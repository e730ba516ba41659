import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { AgentMetrics } from '../../features/metrics/agent-metrics.ts';
import { containerType, type ContainerType } from '../../features/metrics/container-life.ts';
import { imageSizeLabel } from '../../features/metrics/image-size.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodUid } from '../../model/ids.ts';
import type { Cgroups } from '../../ports/cgroups.ts';
import type { ImageRuntime } from '../../ports/images.ts';
import type { ContainerRuntime } from '../../ports/runtime.ts';
import { observedDrivers } from './observed-calls.ts';
import type { World } from './world.ts';

export interface ObservedWorldParts {
  metrics: AgentMetrics;
  pod: (uid: PodUid) => Pod | undefined;
  /** A pull for a pod, from and until when. */
  onPulled: (uid: string, fromMs: number, untilMs: number) => void;
}

/** The same world; what the agent does to it is counted. */
export function observedWorld(world: World, parts: ObservedWorldParts): World {
  return {
    ...world,
    runtime: observedRuntime(world, parts),
    images: observedImages(world, parts),
    cgroups: observedCgroups(world, parts.metrics),
    csiDrivers: observedDrivers(world.csiDrivers, world.clock, parts.metrics),
  };
}

/** An object with some methods replaced; the rest are called on the object itself. */
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

export async function timed<T>(
  clock: Clock,
  work: () => Promise<T>,
  done: (durationMs: number, failed: boolean) => void,
): Promise<T> {
  const startMs = clock.monotonicMs();
  let failed = true;
  try {
    const result = await work();
    failed = false;
    return result;
  } finally {
    done(clock.monotonicMs() - startMs, failed);
  }
}

/** Made and not started yet: each is started at once, or not at all. */
const MOST_UNSTARTED = 1000;

function observedRuntime({ runtime, clock }: World, { metrics: { main }, pod }: ObservedWorldParts): ContainerRuntime {
  const unstarted = new Map<string, ContainerType>();
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
          if (!failed) return;
          main.count('kubelet_run_podsandbox_errors_total', labels);
          main.count('kubelet_started_pods_errors_total');
          if (hasUsers) main.count('kubelet_started_user_namespaced_pods_errors_total');
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
        unstarted.set(id, type);
        return id;
      } catch (error) {
        main.count('kubelet_started_containers_errors_total', { container_type: type, code: 'CreateContainerError' });
        // What the runtime says that it is (CRI errors.go).
        if (errorMessage(error).includes('ImageVolumeMountFailed'))
          main.count('kubelet_image_volume_mounted_errors_total', {}, imageVolumes);
        throw error;
      }
    },
    startContainer: (id, options) => {
      const type = unstarted.get(id) ?? 'container';
      unstarted.delete(id);
      return timed(
        clock,
        () => runtime.startContainer(id, options),
        (_, failed) => {
          if (failed)
            main.count('kubelet_started_containers_errors_total', { container_type: type, code: 'RunContainerError' });
        },
      );
    },
  });
}

function observedImages({ images, clock }: World, { metrics: { main }, onPulled }: ObservedWorldParts): ImageRuntime {
  return overriding(images, {
    pullImage: async (image, pull, options) => {
      const fromMs = clock.nowMs();
      const startMs = clock.monotonicMs();
      const reference = await images.pullImage(image, pull, options);
      const seconds = (clock.monotonicMs() - startMs) / 1000;
      if (pull.sandbox !== undefined) onPulled(pull.sandbox.uid, fromMs, clock.nowMs());
      // How large it is nobody waits for.
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

function observedCgroups({ cgroups, clock }: World, { main }: AgentMetrics): Cgroups {
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
