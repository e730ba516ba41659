import type { DeviceAllocation } from '../../ports/device-plugins.ts';
import type { ConfigMap } from '../../../api/core/config-map.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { LifecycleHandler } from '../../../api/core/probe.ts';
import type { Secret } from '../../../api/core/secret.ts';
import type { Service } from '../../../api/core/service.ts';
import type { ResourceRequirements } from '../../../api/core/resource-requirements.ts';
import type { AnyContainer } from '../../../api/pod.ts';
import type { TimelineEntry } from '../../../api/explanation/explanation.ts';
import type { ContainerId, PodUid, SandboxId } from '../../model/ids.ts';
import type { ProbeType, ProbeVerdict } from '../../model/probe-result.ts';
import type { ContainerRuntimeStatus, SandboxRuntimeStatus } from '../../model/runtime-status.ts';
import type { CgroupLimits, CgroupValues } from '../../ports/cgroups.ts';

/**
 * The default user of the image. It is read at every start and never cached (CVE-2019-11245). A number takes precedence
 * over a name.
 */
export interface ImageUser {
  readonly uid?: number;
  readonly username: string;
}

/**
 * The result of ensuring that an image is present. `reason` is a waiting reason: ErrImagePull, ImagePullBackOff,
 * ErrImageNeverPull ...
 */
export type ImageOutcome =
  | { kind: 'present'; imageRef: string; user: ImageUser }
  | { kind: 'failed'; reason: string; message: string; retryAtMs?: number };

/** Provides images according to their pull policy. It emits its own events (Pulling, Pulled, BackOff, Failed). */
export interface ImageEnsurer {
  /**
   * Ensures that an image is present. It also resolves with a value if the image is not available; it rejects only with
   * `Aborted`. Several calls for one pod run in parallel.
   */
  ensure(request: {
    pod: Pod;
    container: AnyContainer;
    runtimeHandler: string;
    signal: AbortSignal;
  }): Promise<ImageOutcome>;
  /** Does the same for an image that is mounted as a volume, which has its own pull policy. */
  ensureVolume(request: {
    pod: Pod;
    volume: string;
    reference: string;
    pullPolicy: string | undefined;
    runtimeHandler: string;
    signal: AbortSignal;
  }): Promise<ImageOutcome>;
  /** Starts to fetch the images of containers that are not started yet. It never fails. */
  prefetch(pod: Pod, containers: readonly AnyContainer[], signal: AbortSignal): void;
}

export interface HookTarget {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly id: ContainerId;
  /** The address for httpGet hooks. It is undefined on the host's network or when unknown. */
  readonly podIp?: string;
  /** Whether an exec hook's command continues when the wait for it ends. It then ends with its container. */
  readonly runsOn?: boolean;
}

export interface LifecycleHooks {
  /**
   * Runs a handler to its end. A failure is a value, with a message that contains no secrets. It rejects only with
   * `Aborted`.
   */
  run(
    target: HookTarget,
    handler: LifecycleHandler,
    signal: AbortSignal,
  ): Promise<{ ok: true } | { ok: false; message: string }>;
}

export interface ProbeVerdicts {
  /** Returns the result of the probe, or undefined if that container was never probed with it. */
  get(type: ProbeType, id: ContainerId): ProbeVerdict | undefined;
}

/**
 * Receives the agent's own results at once, so that status does not wait for a relist. A result that the agent did not
 * cause, such as a container that ended right after its start, is `observed`. The runtime's event for it may come later
 * and then changes nothing, so this result must cause the next sync.
 */
export interface RuntimeCacheWriter {
  noteContainer(
    pod: { uid: PodUid; name: string; namespace: string },
    status: ContainerRuntimeStatus,
    origin?: 'own' | 'observed',
  ): void;
  noteSandbox(status: SandboxRuntimeStatus, origin?: 'own' | 'observed'): void;
  noteContainerRemoved(uid: PodUid, id: ContainerId): void;
  /**
   * Records that the outcome of a call to the runtime for this pod is unknown. The pod must be read again before more
   * is started.
   */
  noteUnsure(uid: PodUid): void;
}

/** Provides the devices of containers, which were allocated when their pod was admitted. */
export interface DeviceProvider {
  needsDevices(pod: Pod, container: AnyContainer): boolean;
  /** Returns the devices for a start. Rejects with a message for users, or with `Aborted` when `signal` aborts. */
  runOptions(pod: Pod, container: AnyContainer, signal: AbortSignal): Promise<DeviceAllocation>;
}

/**
 * Looks up the ConfigMaps and Secrets that pods may use. Returns undefined if one does not exist. Rejects with
 * `Unavailable` if that cannot be determined.
 */
export interface ObjectLookup {
  configMap(namespace: string, name: string): Promise<ConfigMap | undefined> | ConfigMap | undefined;
  secret(namespace: string, name: string): Promise<Secret | undefined> | Secret | undefined;
}

/** Looks up all services of all namespaces. Rejects with `Unavailable` while they are unknown. */
export interface ServiceLookup {
  services(): readonly Service[] | Promise<readonly Service[]>;
}

/** The pod's bounded record of decisions and results. */
export interface Timeline {
  record(uid: PodUid, entry: Pick<TimelineEntry, 'kind' | 'type' | 'reason' | 'message'>): void;
}

/**
 * Returns the runtime handler of a pod's class, or '' for a pod without a class. Rejects with `NotFound` for a class
 * that does not exist, and with `Invalid` for a pod that contradicts it.
 */
export interface RuntimeHandlers {
  lookup(pod: Pod): Promise<string> | string;
}

/** Called when something of the pod changed, so that its status is computed and published at once. */
export type OnChange = (
  uid: PodUid,
  what:
    | { kind: 'sandbox'; id: SandboxId }
    | { kind: 'container'; name: string; id: ContainerId }
    | { kind: 'failure' }
    | { kind: 'resize' },
) => void;

/** The recorded actuated resources, per container and for pods as a whole. They survive a restart of the agent. */
export interface ActuatedResources {
  container(uid: PodUid, name: string): ResourceRequirements | undefined;
  podLevel(uid: PodUid): ResourceRequirements | undefined;
  /** Records the resources of a container. Returns whether the record changed. */
  setContainer(uid: PodUid, name: string, resources: ResourceRequirements): boolean;
  setPodLevel(uid: PodUid, resources: ResourceRequirements): void;
  flush(): Promise<void>;
}

/** The cgroup of a running pod. */
export interface PodCgroups {
  /** Reads the limits of the pod's cgroup. Returns undefined if the agent manages none. */
  read(pod: Pod): Promise<CgroupValues | undefined>;
  /** Returns the cgroup limits that follow from the pod's resources. */
  wanted(pod: Pod): CgroupLimits;
  update(pod: Pod, limits: CgroupLimits): Promise<void>;
}
