/** Kernel settings, by their path below /proc/sys, such as `vm/overcommit_memory`. */
export interface KernelTunables {
  /** Reads a setting. Rejects with NotFound if this kernel does not have it. */
  read(name: string): Promise<number>;
  /** Writes a setting. Rejects with Unavailable if it cannot be changed. */
  write(name: string, value: number): Promise<void>;
}

/** The process of the agent. */
export interface OwnProcess {
  /** Sets the OOM score. Returns the reason of a failure; undefined on success. */
  setOomScore(scoreAdj: number): string | undefined;
}

/**
 * Cgroups of processes outside of pods. Names are paths in the cgroup file system, with any cgroup driver. On cgroup v1
 * a group exists in every tree.
 */
export interface ProcessGroups {
  readonly ownPid: number;
  /** Creates the group and moves the process to it. An ended process is not an error. */
  move(pid: number, group: string): Promise<void>;
  /** Whether the process is in this group, in all trees. */
  isIn(pid: number, group: string): Promise<boolean>;
  /** Returns the processes directly in the root group, without process 1 and kernel threads. */
  rootProcesses(): Promise<number[]>;
}
