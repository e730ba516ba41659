// The data that the page receives. Times are wall-clock milliseconds, CPU is in millicores, and rates are per second. A
// missing figure was not measured.

export interface PageResources {
  readonly cpuRequestMillis?: number;
  readonly cpuLimitMillis?: number;
  readonly memoryRequestBytes?: number;
  readonly memoryLimitBytes?: number;
  readonly storageRequestBytes?: number;
  readonly storageLimitBytes?: number;
}

export interface PageContainer extends PageResources {
  readonly name: string;
  readonly kind: 'init' | 'sidecar' | 'container' | 'ephemeral';
  readonly image: string;
  readonly state: 'waiting' | 'running' | 'terminated';
  /** The reason of the state, such as `CrashLoopBackOff` or `Completed`; empty for none. */
  readonly reason: string;
  readonly ready: boolean;
  readonly restarts: number;
  readonly exitCode?: number;
}

export interface PagePod extends PageResources {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  /** The status that kubectl shows in its STATUS column. */
  readonly status: string;
  readonly phase: string;
  /** Why a failed pod ended. */
  readonly message?: string;
  /** Ready containers, for example `1/2`. */
  readonly ready: string;
  readonly qos: string;
  readonly priority: number;
  readonly startedAtMs?: number;
  readonly restarts: number;
  readonly settled: boolean;
  /** What blocks the pod, with the last error or else the cause. */
  readonly blocker?: { readonly step: string; readonly cause: string; readonly sinceMs: number };
  /** A text that changes with each new line of the pod's timeline. */
  readonly timelineMark: string;
  readonly containers: readonly PageContainer[];
}

export interface PageThreshold {
  readonly signal: string;
  readonly kind: 'hard' | 'soft';
  /** The shortage begins when less than this amount is available. */
  readonly amount: number;
  readonly graceMs: number;
}

export interface PageNode {
  readonly name: string;
  readonly kubeletVersion: string;
  readonly osVersion?: string;
  readonly kernelVersion?: string;
  readonly bootedAtMs?: number;
  readonly cores?: number;
  readonly memoryBytes?: number;
  readonly swapBytes?: number;
  readonly allocatable: { readonly cpuMillis?: number; readonly memoryBytes?: number; readonly pods?: number };
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
  }[];
  readonly problems: readonly string[];
}

export interface PageManagers {
  readonly cpus?: readonly {
    readonly cpu: number;
    readonly core: number;
    readonly socket: number;
    readonly numa: number;
    readonly use: 'shared' | 'reserved' | 'exclusive';
    readonly owner?: { readonly uid: string; readonly container: string };
  }[];
  readonly devices?: readonly {
    readonly resource: string;
    readonly id: string;
    readonly healthy: boolean;
    readonly owner?: { readonly uid: string; readonly container: string };
  }[];
}

/** The part that changes by events. It is sent to a new client, and after each change. */
export interface PageState {
  readonly node: PageNode;
  readonly thresholds: readonly PageThreshold[];
  readonly pods: readonly PagePod[];
  readonly managers: PageManagers;
}

/** The percentage of the last ten seconds in which a task waited for the resource. */
export interface PagePressure {
  readonly cpu?: number;
  readonly memory?: number;
  readonly io?: number;
}

export interface PageUse {
  readonly cpuMillis?: number;
  readonly memoryBytes?: number;
  readonly readBps?: number;
  readonly writeBps?: number;
  readonly rxBps?: number;
  readonly txBps?: number;
  readonly diskBytes?: number;
  readonly pressure?: PagePressure;
}

export interface PageDiskUse {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  readonly inodes: number;
  readonly inodesFree: number;
}

/** The figures that are sent with every sample. */
export interface PageUsage {
  readonly atMs: number;
  readonly node: PageUse & {
    readonly rootFs?: PageDiskUse;
    readonly imageFs?: PageDiskUse & { readonly imagesBytes: number };
    readonly tasks?: { readonly current: number; readonly limit?: number };
  };
  readonly pods: readonly (PageUse & {
    readonly uid: string;
    readonly containers: readonly (PageUse & { readonly name: string })[];
  })[];
}
