/**
 * The facts of the machine, read once at the start: from the kernel, and from the flags and environment of this
 * process.
 */
export interface MachineFacts {
  readonly cores: number;
  /** The numbers of the online CPUs, even if this process may not use them. */
  readonly onlineCpus: readonly number[];
  /** The architecture as Go and Kubernetes name it, such as `amd64`. */
  readonly architecture: string;
  readonly memoryBytes: number;
  readonly swapBytes: number;
  /** The maximum number of processes and threads; absent if it could not be read. */
  readonly maxPids?: number;
  /** The sizes as the kernel names them: `2MB`, `1GB`. */
  readonly hugePageSizes: readonly string[];
  /** The memory that is reserved as huge pages of each size. */
  readonly hugePages: readonly { sizeBytes: number; totalBytes: number }[];
  readonly thermalThrottlePaths: readonly string[];
  readonly selinuxEnabled: boolean;
  readonly appArmorEnabled: boolean;
  /** The version that `uname -r` prints. */
  readonly kernelVersion: string;
  /** The id of the installation; '' if there is none. */
  readonly machineId: string;
  /** The id of the hardware; '' if the firmware does not provide it. */
  readonly systemUuid: string;
  /** A random id of the current boot. */
  readonly bootId: string;
  /** The name of the distribution. */
  readonly osImage: string;
  /** The wall-clock time of the boot, in milliseconds; undefined if the kernel does not provide it. */
  readonly bootedAtMs: number | undefined;
  /** The addresses of the external interfaces, IPv4 first. Loopback, link-local and container bridges are excluded. */
  readonly addresses: readonly string[];
  readonly nodeName: string;
  /** The size of the root directory's file system; undefined if it could not be read. */
  readonly rootStorageBytes: number | undefined;
  readonly hugePageSizesBytes: readonly number[];
  /** The working directory and the home directory of the process, which may contain registry credentials. */
  readonly workingDir: string;
  readonly homeDir: string;
}
