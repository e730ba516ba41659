/** Settings of the kernel, by the path below /proc/sys: `vm/overcommit_memory`. */
export interface KernelTunables {
  /** NotFound where this kernel does not have it. */
  read(name: string): Promise<number>;
  /** Unavailable where it may not be changed. */
  write(name: string, value: number): Promise<void>;
}

/** The process of the agent. */
export interface OwnProcess {
  /** Returns the reason of a failure; undefined on success. */
  setOomScore(scoreAdj: number): string | undefined;
}

/**
 * Cgroups of processes that are not in pods. Names are paths in the cgroup file system, whatever the cgroup driver. On
 * cgroup v1 a group exists in every tree.
 */
export interface ProcessGroups {
  readonly ownPid: number;
  /** Creates the group and moves the process to it; a process that has ended is success. */
  move(pid: number, group: string): Promise<void>;
  /** Whether the process is in this group, in all trees. */
  isIn(pid: number, group: string): Promise<boolean>;
  /** The processes directly in the root group, without process 1 and without the threads of the kernel. */
  rootProcesses(): Promise<number[]>;
}
