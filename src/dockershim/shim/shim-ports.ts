import type { PodUsage } from '../plan/pod-usage.ts';
import type { SandboxRecord } from './sandbox-record.ts';

/** The machine that the shim and Docker share. Every method rejects with KubeletError. */
export interface ShimHost {
  /** Creates a missing directory. An existing path, including a dangling symbolic link, is not changed. */
  ensureDirectory(path: string): Promise<void>;
  /** `Invalid` for a file over 1 MiB, `NotFound` for a missing one. */
  readProfile(file: string): Promise<string>;
  /** Overwrites a file that is mounted into containers, in place. */
  overwriteFile(file: string, text: string): Promise<void>;
  /**
   * Whether a process belongs to a container: its cgroup has the container's id. The process id that Docker reported
   * may belong to another process by now.
   */
  isProcessOf(pid: number, containerId: string): boolean;
  /**
   * Ends a process of a container with SIGKILL. Does nothing if the process is gone or does not belong to the
   * container.
   */
  killProcess(pid: number, containerId: string): void;
  /** Usage of the pod whose sandbox has this process id: its cgroup and its network. */
  podUsage(pid: number): Promise<PodUsage>;
  /** Usage of the file system that contains `path`. */
  diskUsage(path: string): Promise<{ readonly usedBytes: number; readonly inodesUsed: number }>;
}

/** What the shim must know about its sandboxes after a restart, and when Docker no longer knows them; one file each. */
export interface SandboxRecords {
  /**
   * `isLasting: false`: after a loss of power the previous record may be back, because what it describes does not
   * survive a reboot.
   */
  write(id: string, record: SandboxRecord, options?: { readonly isLasting: boolean }): Promise<void>;
  /** undefined when it is missing or cannot be read. */
  read(id: string): Promise<SandboxRecord | undefined>;
  list(): Promise<readonly string[]>;
  remove(id: string): Promise<void>;
}
