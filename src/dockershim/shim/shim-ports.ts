import type { PodUsage } from '../plan/pod-usage.ts';
import type { SandboxRecord } from './sandbox-record.ts';

/** The machine that the shim and Docker share. Every method rejects with KubeletError. */
export interface ShimHost {
  /** Makes a missing directory; a path that exists stays as it is, a dangling symbolic link too. */
  ensureDirectory(path: string): Promise<void>;
  /** `Invalid` for a file over 1 MiB, `NotFound` for a missing one. */
  readProfile(file: string): Promise<string>;
  /** Writes into the file that is mounted into containers, in place. */
  overwriteFile(file: string, text: string): Promise<void>;
  /**
   * Whether a process is one of a container: its control group has the container's name. The number that Docker knew may
   * belong to another process by now.
   */
  isProcessOf(pid: number, containerId: string): boolean;
  /** Ends a process of a container with SIGKILL; one that is gone, or that is none of the container, is left alone. */
  killProcess(pid: number, containerId: string): void;
  /** Of the pod whose sandbox has this process: its control group and its network. */
  podUsage(pid: number): Promise<PodUsage>;
  /** Of the file system that holds `path`. */
  diskUsage(path: string): Promise<{ readonly usedBytes: number; readonly inodesUsed: number }>;
}

/** What the shim must know of its sandboxes after a restart and after Docker forgot them; one file each. */
export interface SandboxRecords {
  /**
   * `isLasting: false`: a loss of power may take it back to what was written before, as what it describes ends with the
   * machine.
   */
  write(id: string, record: SandboxRecord, options?: { readonly isLasting: boolean }): Promise<void>;
  /** undefined where there is none or it cannot be read. */
  read(id: string): Promise<SandboxRecord | undefined>;
  list(): Promise<readonly string[]>;
  remove(id: string): Promise<void>;
}
