/** Facts of the machine, read once at start: from the kernel, and from the flags and environment of this process. */
export interface MachineFacts {
  cores: number;
  /** Numbers of the online CPUs, whether or not this process may use them. */
  onlineCpus: readonly number[];
  /** As Go and Kubernetes name it: `amd64`. */
  architecture: string;
  memoryBytes: number;
  swapBytes: number;
  /** How many processes and threads the kernel allows; absent where it could not be read. */
  maxPids?: number;
  /** As the kernel names them: `2MB`, `1GB`. */
  hugePageSizes: readonly string[];
  /** How much memory is reserved as huge pages of each size. */
  hugePages: readonly { sizeBytes: number; totalBytes: number }[];
  thermalThrottlePaths: readonly string[];
  selinuxEnabled: boolean;
  appArmorEnabled: boolean;
  /** As `uname -r` gives it. */
  kernelVersion: string;
  /** Of the installation; '' if there is none. */
  machineId: string;
  /** Of the hardware; '' where the firmware does not provide it. */
  systemUuid: string;
  /** New with each boot. */
  bootId: string;
  /** As the distribution names itself. */
  osImage: string;
  /** Wall time of the boot, in milliseconds; undefined where the kernel does not provide it. */
  bootedAtMs: number | undefined;
  /** Addresses of the external interfaces, IPv4 first; loopback, link-local and container bridges are excluded. */
  addresses: readonly string[];
  nodeName: string;
  /** Size of the file system of the root directory; undefined when it could not be read. */
  rootStorageBytes: number | undefined;
  hugePageSizesBytes: readonly number[];
  /** Working directory and home directory of the process: registry credentials may be there. */
  workingDir: string;
  homeDir: string;
}
