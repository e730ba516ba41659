import type { ContainerId, PodUid, SandboxId } from './ids.ts';

export type ContainerState = 'created' | 'running' | 'exited' | 'unknown';

/** The runtime's status of one container. Times are wall milliseconds, 0 when the runtime gave none. */
export interface ContainerRuntimeStatus {
  id: ContainerId;
  sandboxId: SandboxId;
  /** The name in the pod spec. */
  name: string;
  /** CRI attempt: equals the restart count it was created with. */
  attempt: number;
  state: ContainerState;
  createdAtMs: number;
  startedAtMs: number;
  finishedAtMs: number;
  exitCode: number;
  /** The runtime's reason: Completed, Error, OOMKilled, StartError, ContainerCannotRun ... */
  reason: string;
  message: string;
  /** The image as named in the pod spec. */
  image: string;
  /** The image's identity (CRI image_ref), shown as imageID in the pod's status. */
  imageRef: string;
  /** Runtime-local image id, for image garbage collection. */
  imageId: string;
  logPath: string;
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
  resources?: ContainerRuntimeResources;
  /** The signal with which the runtime stops it, such as SIGTERM; undefined where it does not report one. */
  stopSignal?: string;
  user?: { uid: number; gid: number; supplementalGroups: readonly number[] };
  mounts?: readonly { containerPath: string; hostPath: string; readOnly: boolean; recursiveReadOnly?: boolean }[];
}

export interface ContainerRuntimeResources {
  cpuPeriod: number;
  cpuQuota: number;
  cpuShares: number;
  memoryLimitBytes: number;
}

/** The runtime's status of one pod sandbox. */
export interface SandboxRuntimeStatus {
  id: SandboxId;
  podUid: PodUid;
  podName: string;
  podNamespace: string;
  attempt: number;
  ready: boolean;
  createdAtMs: number;
  /** In the runtime's order and in canonical form; empty for pods on the host's network. */
  ips: readonly string[];
  /** The runtime reported something that is not an address. A new sandbox would not help. */
  isAddressUnreadable?: boolean;
  hostNetwork: boolean;
  /** The host's ids that the users of the pod are mapped to; absent for a pod that uses the host's ids. */
  userns?: { hostId: number; length: number };
  runtimeHandler: string;
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
}

/** One pod as the runtime sees it: all sandboxes and containers, dead ones too, newest first. */
export interface PodRuntimeStatus {
  uid: PodUid;
  name: string;
  namespace: string;
  sandboxes: readonly SandboxRuntimeStatus[];
  containers: readonly ContainerRuntimeStatus[];
  /** Monotonic milliseconds at which this was known to be true. */
  observedAtMs: number;
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
