import type { ContainerId, PodUid, SandboxId } from './ids.ts';

export type ContainerState = 'created' | 'running' | 'exited' | 'unknown';

/** The runtime's status of one container. Times are wall milliseconds, 0 when the runtime gave none. */
export interface ContainerRuntimeStatus {
  readonly id: ContainerId;
  readonly sandboxId: SandboxId;
  /** The name in the pod spec. */
  readonly name: string;
  /** CRI attempt: equals the restart count it was created with. */
  readonly attempt: number;
  readonly state: ContainerState;
  readonly createdAtMs: number;
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
  readonly exitCode: number;
  /** The runtime's reason: Completed, Error, OOMKilled, StartError, ContainerCannotRun ... */
  readonly reason: string;
  readonly message: string;
  /** The image as named in the pod spec. */
  readonly image: string;
  /** The image's identity (CRI image_ref), shown as imageID in the pod's status. */
  readonly imageRef: string;
  /** Runtime-local image id, for image garbage collection. */
  readonly imageId: string;
  readonly logPath: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  resources?: ContainerRuntimeResources;
  /** The signal with which the runtime stops it, such as SIGTERM; undefined where it does not report one. */
  stopSignal?: string;
  user?: { uid: number; gid: number; supplementalGroups: readonly number[] };
  readonly mounts?: readonly {
    containerPath: string;
    hostPath: string;
    readOnly: boolean;
    recursiveReadOnly?: boolean;
  }[];
}

export interface ContainerRuntimeResources {
  readonly cpuPeriod: number;
  readonly cpuQuota: number;
  readonly cpuShares: number;
  readonly memoryLimitBytes: number;
}

/** A pod sandbox as a list shows it. */
export interface ListedSandbox {
  readonly id: SandboxId;
  readonly podUid: PodUid;
  readonly podName: string;
  readonly podNamespace: string;
  readonly attempt: number;
  readonly ready: boolean;
  readonly createdAtMs: number;
  readonly runtimeHandler: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** The runtime's status of one pod sandbox. */
export interface SandboxRuntimeStatus extends ListedSandbox {
  /** In the runtime's order and in canonical form; empty for pods on the host's network. */
  readonly ips: readonly string[];
  /** The runtime reported something that is not an address. A new sandbox would not help. */
  readonly isAddressUnreadable?: boolean;
  readonly hostNetwork: boolean;
  /** The host's ids that the users of the pod are mapped to; absent for a pod that uses the host's ids. */
  readonly userns?: { hostId: number; length: number };
}

/** One pod as the runtime sees it: all sandboxes and containers, dead ones too, newest first. */
export interface PodRuntimeStatus {
  readonly uid: PodUid;
  readonly name: string;
  readonly namespace: string;
  readonly sandboxes: readonly SandboxRuntimeStatus[];
  readonly containers: readonly ContainerRuntimeStatus[];
  /** Monotonic milliseconds at which this was known to be true. */
  readonly observedAtMs: number;
}

export function emptyPodRuntimeStatus(
  pod: { uid: PodUid; name: string; namespace: string },
  observedAtMs: number,
): PodRuntimeStatus {
  return { ...pod, sandboxes: [], containers: [], observedAtMs };
}

/** The newest container of that name, dead or alive. */
export function newestContainer(status: PodRuntimeStatus, name: string): ContainerRuntimeStatus | undefined {
  return status.containers.find((container) => container.name === name);
}

/** Whether anything of the pod still runs: a container, or a ready sandbox. */
export function isAnythingRunning(status: PodRuntimeStatus): boolean {
  return (
    status.containers.some((container) => container.state === 'running') ||
    status.sandboxes.some((sandbox) => sandbox.ready)
  );
}
