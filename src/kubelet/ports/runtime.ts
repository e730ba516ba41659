import type { ContainerId, PodUid, SandboxId } from '../model/ids.ts';
import type {
  ListedSandbox,
  ContainerRuntimeStatus,
  ContainerState,
  SandboxRuntimeStatus,
} from '../model/runtime-status.ts';

/** The options of one call. Without a deadline here, upstream's deadline of the call applies. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly timeoutMs?: number;
}

export interface RuntimeVersion {
  readonly name: string;
  readonly version: string;
  readonly apiVersion: string;
}

export interface RuntimeCondition {
  readonly ok: boolean;
  readonly reason: string;
  readonly message: string;
}

export interface RuntimeHealth {
  readonly runtimeReady: RuntimeCondition;
  readonly networkReady: RuntimeCondition;
  readonly handlers: readonly { name: string; recursiveReadOnlyMounts: boolean; userNamespaces: boolean }[];
  readonly supplementalGroupsPolicy: boolean;
}

export interface Listed {
  readonly id: ContainerId;
  readonly sandboxId: SandboxId;
  readonly podUid: PodUid;
  readonly podName: string;
  readonly podNamespace: string;
  readonly name: string;
  readonly attempt: number;
  readonly state: ContainerState;
  readonly createdAtMs: number;
  readonly image: string;
  readonly imageRef: string;
  readonly imageId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

export type NamespaceMode = 'pod' | 'container' | 'node' | 'target';

export interface NamespaceOptions {
  readonly network: NamespaceMode;
  readonly pid: NamespaceMode;
  readonly ipc: NamespaceMode;
  /** The runtime's id of the container whose PID namespace is shared, with `pid: 'target'`. */
  readonly targetId?: string;
  readonly userns?: { mode: 'node' } | { mode: 'pod'; hostId: number; length: number };
}

export interface SecurityProfile {
  readonly type: 'RuntimeDefault' | 'Unconfined' | 'Localhost';
  readonly localhostRef?: string;
}

export interface SelinuxOptions {
  readonly user: string;
  readonly role: string;
  readonly type: string;
  readonly level: string;
}

/** CRI's LinuxContainerResources. The runtime chooses undefined fields. */
export interface LinuxResources {
  readonly cpuShares?: number;
  readonly cpuQuota?: number;
  readonly cpuPeriod?: number;
  readonly memoryLimitBytes?: number;
  readonly memorySwapLimitBytes?: number;
  readonly oomScoreAdj?: number;
  readonly cpusetCpus?: string;
  readonly cpusetMems?: string;
  readonly hugepageLimits?: readonly { pageSize: string; limitBytes: number }[];
  /** Settings of cgroup v2 such as memory.oom.group. */
  readonly unified?: Readonly<Record<string, string>>;
}

export interface PortMapping {
  readonly protocol: 'TCP' | 'UDP' | 'SCTP';
  readonly containerPort: number;
  readonly hostPort: number;
  readonly hostIp: string;
}

export interface SandboxConfig {
  readonly name: string;
  readonly namespace: string;
  readonly uid: PodUid;
  readonly attempt: number;
  readonly hostname: string;
  readonly logDirectory: string;
  readonly dns?: { servers: readonly string[]; searches: readonly string[]; options: readonly string[] };
  readonly portMappings: readonly PortMapping[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly cgroupParent: string;
  readonly sysctls: Readonly<Record<string, string>>;
  readonly overhead?: LinuxResources;
  readonly resources?: LinuxResources;
  readonly security: {
    namespaces: NamespaceOptions;
    runAsUser?: number;
    runAsGroup?: number;
    supplementalGroups: readonly number[];
    supplementalGroupsPolicy?: 'Merge' | 'Strict';
    privileged: boolean;
    readOnlyRootFilesystem: boolean;
    seccomp?: SecurityProfile;
    apparmor?: SecurityProfile;
    selinux?: SelinuxOptions;
  };
}

export interface Mount {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly readOnly: boolean;
  readonly recursiveReadOnly?: boolean;
  readonly selinuxRelabel?: boolean;
  readonly propagation: 'private' | 'host-to-container' | 'bidirectional';
  /** An image volume, which the runtime mounts from this image instead of from hostPath. */
  readonly image?: { image: string; imageRef: string; subPath?: string };
}

export interface ContainerConfig {
  readonly name: string;
  readonly attempt: number;
  readonly image: { image: string; userSpecifiedImage: string; runtimeHandler: string };
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly workingDir: string;
  readonly envs: readonly { key: string; value: string }[];
  readonly mounts: readonly Mount[];
  readonly devices: readonly { hostPath: string; containerPath: string; permissions: string }[];
  /** Names of devices that the runtime resolves (CDI), such as `vendor.com/class=name`. */
  readonly cdiDevices?: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** A path relative to the sandbox's log directory. */
  readonly logPath: string;
  readonly stdin: boolean;
  readonly stdinOnce: boolean;
  readonly tty: boolean;
  readonly resources: LinuxResources;
  readonly stopSignal?: string;
  readonly security: {
    capabilities?: { add: readonly string[]; drop: readonly string[] };
    privileged: boolean;
    namespaces: NamespaceOptions;
    selinux?: SelinuxOptions;
    runAsUser?: number;
    runAsUsername?: string;
    runAsGroup?: number;
    readOnlyRootFilesystem: boolean;
    supplementalGroups: readonly number[];
    supplementalGroupsPolicy?: 'Merge' | 'Strict';
    noNewPrivs: boolean;
    maskedPaths: readonly string[];
    readonlyPaths: readonly string[];
    seccomp?: SecurityProfile;
    apparmor?: SecurityProfile;
  };
}

export interface ExecResult {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly exitCode: number;
}

/**
 * A change in the runtime. It is only a hint, and the state is read again. `atMs` is the runtime's own wall clock, to
 * reject stale events. `changed`: details of a container changed, such as the reason of its exit (an OOM kill is
 * reported separately).
 */
export interface RuntimeEvent {
  readonly kind: 'created' | 'started' | 'stopped' | 'deleted' | 'changed';
  /** The id of a container or a sandbox. */
  readonly id: string;
  podUid?: PodUid;
  readonly atMs: number;
  /**
   * How the container's process ended, if the event includes it (containerd). It is available before the runtime's
   * status shows it.
   */
  exit?: { exitCode: number; finishedAtMs: number };
  /** The whole pod, if the runtime includes it (CRI GetContainerEvents). */
  pod?: { sandbox: SandboxRuntimeStatus; containers: readonly ContainerRuntimeStatus[] };
}

/** The source of events: CRI's own stream, or containerd's event service if the runtime has no CRI events (1.6). */
export type EventSourceKind = 'cri' | 'containerd';

export interface RuntimeEventSource {
  readonly kind: EventSourceKind;
  /**
   * Opens a stream, and calls `onEvent` for each event. Resolves when `signal` aborts. Rejects with `Unimplemented` if
   * this runtime has no such stream, and with `Unavailable` if the connection broke. `onOpen` is called when the
   * subscription is known to be active.
   */
  subscribe(
    handlers: { onOpen: () => void; onEvent: (event: RuntimeEvent) => void },
    signal: AbortSignal,
  ): Promise<void>;
}

/**
 * The calls of a container runtime that the agent needs. They reject with KubeletError, and with `NotFound` for objects
 * that do not exist.
 */
export interface ContainerRuntime {
  version(options?: CallOptions): Promise<RuntimeVersion>;
  status(options?: CallOptions): Promise<RuntimeHealth>;
  /** Returns the runtime's cgroup driver. Rejects with `Unimplemented` for runtimes before CRI RuntimeConfig. */
  cgroupDriver(options?: CallOptions): Promise<'systemd' | 'cgroupfs'>;
  updatePodCidr(podCidr: string, options?: CallOptions): Promise<void>;

  listSandboxes(filter?: { podUid?: PodUid }, options?: CallOptions): Promise<ListedSandbox[]>;
  sandboxStatus(id: SandboxId, options?: CallOptions): Promise<SandboxRuntimeStatus>;
  runSandbox(config: SandboxConfig, runtimeHandler: string, options?: CallOptions): Promise<SandboxId>;
  stopSandbox(id: SandboxId, options?: CallOptions): Promise<void>;
  removeSandbox(id: SandboxId, options?: CallOptions): Promise<void>;

  listContainers(filter?: { podUid?: PodUid }, options?: CallOptions): Promise<Listed[]>;
  containerStatus(id: ContainerId, options?: CallOptions): Promise<ContainerRuntimeStatus>;
  createContainer(
    sandbox: SandboxId,
    config: ContainerConfig,
    sandboxConfig: SandboxConfig,
    options?: CallOptions,
  ): Promise<ContainerId>;
  startContainer(id: ContainerId, options?: CallOptions): Promise<void>;
  /** Sends the stop signal, and kills the container after `graceMs` (CRI rounds up to whole seconds). */
  stopContainer(id: ContainerId, graceMs: number, options?: CallOptions): Promise<void>;
  removeContainer(id: ContainerId, options?: CallOptions): Promise<void>;
  updateContainerResources(id: ContainerId, resources: LinuxResources, options?: CallOptions): Promise<void>;
  /** Passes the pod's new size to runtimes that store one. Rejects with `Unimplemented` for other runtimes. */
  updateSandboxResources(
    id: SandboxId,
    update: { resources: LinuxResources; overhead: LinuxResources },
    options?: CallOptions,
  ): Promise<void>;
  /** Returns the current memory usage of a running container in bytes; undefined if the runtime does not report it. */
  containerMemoryBytes(id: ContainerId, options?: CallOptions): Promise<number | undefined>;
  reopenContainerLog(id: ContainerId, options?: CallOptions): Promise<void>;

  /** Runs a command to completion. `timeoutMs` 0 means no limit. A run over its limit rejects with kind Timeout. */
  execSync(id: ContainerId, command: readonly string[], timeoutMs: number, options?: CallOptions): Promise<ExecResult>;
  /** This and the next two resolve to the URL of the runtime's streaming server. */
  execUrl(
    request: {
      id: ContainerId;
      command: readonly string[];
      tty: boolean;
      stdin: boolean;
      stdout: boolean;
      stderr: boolean;
    },
    options?: CallOptions,
  ): Promise<string>;
  attachUrl(
    request: { id: ContainerId; tty: boolean; stdin: boolean; stdout: boolean; stderr: boolean },
    options?: CallOptions,
  ): Promise<string>;
  portForwardUrl(sandbox: SandboxId, ports: readonly number[], options?: CallOptions): Promise<string>;
  /**
   * Writes a checkpoint of a running container to `location`. `timeoutSeconds` 0 means the runtime's own limit. Rejects
   * with `Unimplemented` if the runtime does not support it.
   */
  checkpointContainer(id: ContainerId, location: string, timeoutSeconds: number, options?: CallOptions): Promise<void>;
}
