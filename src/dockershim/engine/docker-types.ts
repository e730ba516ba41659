/**
 * The parts of Docker Engine's API, version 1.41 and newer, that the shim uses (the API's own reference documentation).
 * All members of answers are optional, because an older or newer engine may leave members out.
 */

export interface DockerVersion {
  readonly Version?: string;
  readonly ApiVersion?: string;
  readonly MinAPIVersion?: string;
}

export interface DockerInfo {
  readonly ID?: string;
  readonly DockerRootDir?: string;
  readonly CgroupDriver?: string;
  readonly CgroupVersion?: string;
  readonly SecurityOptions?: readonly string[] | null;
  readonly Runtimes?: Readonly<Record<string, unknown>> | null;
  readonly DefaultRuntime?: string;
  readonly LiveRestoreEnabled?: boolean;
  readonly Driver?: string;
}

/** One line of the list of containers. */
export interface ContainerSummary {
  readonly Id: string;
  readonly Names?: readonly string[] | null;
  readonly Image?: string;
  readonly ImageID?: string;
  /** Seconds since the Unix epoch. */
  readonly Created?: number;
  readonly State?: string;
  readonly Status?: string;
  readonly Labels?: Readonly<Record<string, string>> | null;
  readonly SizeRw?: number;
}

export interface ContainerState {
  readonly Status?: string;
  readonly Running?: boolean;
  readonly OOMKilled?: boolean;
  readonly Dead?: boolean;
  readonly Pid?: number;
  readonly ExitCode?: number;
  readonly Error?: string;
  readonly StartedAt?: string;
  readonly FinishedAt?: string;
}

export interface MountPoint {
  readonly Type?: string;
  readonly Source?: string;
  readonly Destination?: string;
  readonly RW?: boolean;
  readonly Propagation?: string;
}

export interface ContainerInspect {
  readonly Id: string;
  readonly Name?: string;
  readonly Created?: string;
  readonly State?: ContainerState;
  readonly Image?: string;
  readonly ResolvConfPath?: string;
  readonly LogPath?: string;
  readonly SizeRw?: number;
  readonly Mounts?: readonly MountPoint[] | null;
  readonly Config?: {
    readonly Image?: string;
    readonly Labels?: Readonly<Record<string, string>> | null;
    readonly Tty?: boolean;
    readonly OpenStdin?: boolean;
    readonly StdinOnce?: boolean;
    readonly User?: string;
    readonly StopSignal?: string;
  };
  readonly HostConfig?: HostConfig;
}

export interface MountSpec {
  readonly Type: 'bind';
  readonly Source: string;
  readonly Target: string;
  readonly ReadOnly: boolean;
  readonly BindOptions: {
    readonly Propagation: string;
    readonly ReadOnlyForceRecursive?: boolean;
    readonly NonRecursive?: boolean;
  };
}

export interface DeviceSpec {
  readonly PathOnHost: string;
  readonly PathInContainer: string;
  readonly CgroupPermissions: string;
}

/** The resources that can be changed while the container runs. */
export interface DockerResources {
  readonly CpuShares?: number;
  readonly CpuQuota?: number;
  readonly CpuPeriod?: number;
  readonly CpusetCpus?: string;
  readonly CpusetMems?: string;
  /** Bytes. */
  readonly Memory?: number;
  /** Bytes of memory and swap together; -1 means no limit. */
  readonly MemorySwap?: number;
}

export interface HostConfig extends DockerResources {
  readonly CgroupParent?: string;
  readonly OomScoreAdj?: number;
  readonly NetworkMode?: string;
  readonly PidMode?: string;
  readonly IpcMode?: string;
  readonly UTSMode?: string;
  readonly UsernsMode?: string;
  readonly Privileged?: boolean;
  readonly ReadonlyRootfs?: boolean;
  readonly CapAdd?: readonly string[];
  readonly CapDrop?: readonly string[];
  readonly GroupAdd?: readonly string[];
  readonly SecurityOpt?: readonly string[];
  readonly Sysctls?: Readonly<Record<string, string>>;
  readonly Dns?: readonly string[];
  readonly DnsSearch?: readonly string[];
  readonly DnsOptions?: readonly string[];
  readonly Mounts?: readonly MountSpec[];
  readonly Binds?: readonly string[];
  readonly Devices?: readonly DeviceSpec[];
  readonly DeviceRequests?: readonly { readonly Driver: string; readonly DeviceIDs: readonly string[] }[];
  readonly MaskedPaths?: readonly string[];
  readonly ReadonlyPaths?: readonly string[];
  readonly Runtime?: string;
  readonly LogConfig?: { readonly Type: string; readonly Config: Readonly<Record<string, string>> };
  readonly RestartPolicy?: { readonly Name: string };
}

export interface CreateContainerBody {
  readonly Image: string;
  readonly Hostname?: string;
  readonly User?: string;
  readonly Env?: readonly string[];
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly WorkingDir?: string;
  readonly Labels: Readonly<Record<string, string>>;
  readonly Tty?: boolean;
  readonly OpenStdin?: boolean;
  readonly StdinOnce?: boolean;
  readonly AttachStdin?: boolean;
  readonly StopSignal?: string;
  readonly NetworkDisabled?: boolean;
  readonly Healthcheck?: { readonly Test: readonly string[] };
  readonly HostConfig: HostConfig;
}

export interface ExecBody {
  readonly Cmd: readonly string[];
  readonly Tty: boolean;
  readonly AttachStdin: boolean;
  readonly AttachStdout: boolean;
  readonly AttachStderr: boolean;
}

export interface ExecInspect {
  readonly Running?: boolean;
  readonly ExitCode?: number | null;
  readonly Pid?: number;
  readonly ContainerID?: string;
}

export interface ImageSummary {
  readonly Id: string;
  readonly RepoTags?: readonly string[] | null;
  readonly RepoDigests?: readonly string[] | null;
  readonly Size?: number;
}

export interface ImageInspect extends ImageSummary {
  readonly Config?: {
    readonly User?: string;
    readonly Env?: readonly string[] | null;
    readonly Labels?: Readonly<Record<string, string>> | null;
  } | null;
}

/** One line of the progress of a pull. */
export interface PullProgress {
  readonly error?: string;
  readonly status?: string;
  readonly id?: string;
}

export interface DockerEvent {
  readonly Type?: string;
  readonly Action?: string;
  readonly Actor?: { readonly ID?: string; readonly Attributes?: Readonly<Record<string, string>> };
  readonly timeNano?: number;
}

export interface DockerStats {
  readonly read?: string;
  readonly pids_stats?: { readonly current?: number };
  readonly cpu_stats?: { readonly cpu_usage?: { readonly total_usage?: number } };
  readonly memory_stats?: {
    readonly usage?: number;
    readonly limit?: number;
    readonly stats?: Readonly<Record<string, number>>;
  };
}

/** The credentials for a registry; member names of Docker's API. */
export interface RegistryAuth {
  readonly username?: string;
  readonly password?: string;
  readonly serveraddress?: string;
  readonly identitytoken?: string;
  readonly registrytoken?: string;
}
