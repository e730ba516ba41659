/** Facts of the machine, read once at start: from the kernel, and from the flags and environment of this process. */
export interface MachineFacts {
  readonly cores: number;
  /** Numbers of the online CPUs, whether or not this process may use them. */
  readonly onlineCpus: readonly number[];
  /** As Go and Kubernetes name it: `amd64`. */
  readonly architecture: string;
  readonly memoryBytes: number;
  readonly swapBytes: number;
  /** How many processes and threads the kernel allows; absent where it could not be read. */
  readonly maxPids?: number;
  /** As the kernel names them: `2MB`, `1GB`. */
  readonly hugePageSizes: readonly string[];
  /** How much memory is reserved as huge pages of each size. */
  readonly hugePages: readonly { sizeBytes: number; totalBytes: number }[];
  readonly thermalThrottlePaths: readonly string[];
  readonly selinuxEnabled: boolean;
  readonly appArmorEnabled: boolean;
  /** As `uname -r` gives it. */
  readonly kernelVersion: string;
  /** Of the installation; '' if there is none. */
  readonly machineId: string;
  /** Of the hardware; '' where the firmware does not provide it. */
  readonly systemUuid: string;
  /** New with each boot. */
  readonly bootId: string;
  /** As the distribution names itself. */
  readonly osImage: string;
  /** Wall time of the boot, in milliseconds; undefined where the kernel does not provide it. */
  readonly bootedAtMs: number | undefined;
  /** Addresses of the external interfaces, IPv4 first; loopback, link-local and container bridges are excluded. */
  readonly addresses: readonly string[];
  readonly nodeName: string;
  /** Size of the file system of the root directory; undefined when it could not be read. */
  readonly rootStorageBytes: number | undefined;
  readonly hugePageSizesBytes: readonly number[];
  /** Working directory and home directory of the process: registry credentials may be there. */
  readonly workingDir: string;
  readonly homeDir: string;
}
