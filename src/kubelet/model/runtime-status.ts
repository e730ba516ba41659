import type { ContainerId, PodUid, SandboxId } from './ids.ts';

export type ContainerState = 'created' | 'running' | 'exited' | 'unknown';

/** The runtime's status of one container. Times are wall-clock milliseconds, or 0 if the runtime reported none. */
export interface ContainerRuntimeStatus {
  readonly id: ContainerId;
  readonly sandboxId: SandboxId;
  /** The name in the pod spec. */
  readonly name: string;
  /** The CRI attempt, which equals the restart count with which the container was created. */
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
  /** The identity of the image (CRI image_ref), which is the imageID in the pod's status. */
  readonly imageRef: string;
  /** The runtime's id of the image, for image garbage collection. */
  readonly imageId: string;
  readonly logPath: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  resources?: ContainerRuntimeResources;
  /**
   * The signal with which the runtime stops the container, such as SIGTERM; undefined if the runtime does not report
   * it.
   */
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

/** A pod sandbox as listed by the runtime. */
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
  /** The addresses in the runtime's order and in canonical form; empty for pods on the host's network. */
  readonly ips: readonly string[];
  /** Whether the runtime reported an invalid address. A new sandbox would not help. */
  readonly isAddressUnreadable?: boolean;
  readonly hostNetwork: boolean;
  /** The host's ids to which the users of the pod are mapped; absent for a pod that uses the host's ids. */
  readonly userns?: { hostId: number; length: number };
}

/** One pod in the runtime: all sandboxes and containers, including dead ones, newest first. */
export interface PodRuntimeStatus {
  readonly uid: PodUid;
  readonly name: string;
  readonly namespace: string;
  readonly sandboxes: readonly SandboxRuntimeStatus[];
  readonly containers: readonly ContainerRuntimeStatus[];
  /** The monotonic time of the observation, in milliseconds. */
  readonly observedAtMs: number;
}

export function emptyPodRuntimeStatus(
  pod: { uid: PodUid; name: string; namespace: string },
  observedAtMs: number,
): PodRuntimeStatus {
  return { ...pod, sandboxes: [], containers: [], observedAtMs };
}

/** Returns the newest container with that name, dead or alive. */
export function newestContainer(status: PodRuntimeStatus, name: string): ContainerRuntimeStatus | undefined {
  return status.containers.find((container) => container.name === name);
}

/** Whether a container of the pod, or a ready sandbox, is still running. */
export function isAnythingRunning(status: PodRuntimeStatus): boolean {
  return (
    status.containers.some((container) => container.state === 'running') ||
    status.sandboxes.some((sandbox) => sandbox.ready)
  );
}
