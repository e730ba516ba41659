/** The kubelet's Pod Resources API (v1 and v1alpha1). */

/** One device of a device plugin. */
export interface ResourceDevice {
  readonly resource: string;
  readonly id: string;
  readonly numaNodes: readonly number[];
}

export interface ResourceMemory {
  /** For example `memory` or `hugepages-2Mi`. */
  readonly type: string;
  readonly bytes: number;
  readonly numaNodes: readonly number[];
}

/** A claim of dynamic resource allocation that a container uses. */
export interface ResourceClaimUse {
  readonly name: string;
  readonly namespace: string;
  readonly devices: readonly {
    readonly cdiIds: readonly string[];
    readonly driver: string;
    readonly pool: string;
    readonly device: string;
    readonly shareId?: string | undefined;
  }[];
}

export interface ContainerResourceUse {
  readonly name: string;
  readonly devices: readonly ResourceDevice[];
  /** The exclusive CPUs. */
  readonly cpus: readonly number[];
  readonly memory: readonly ResourceMemory[];
  readonly claims: readonly ResourceClaimUse[];
}

export interface PodResourceUse {
  readonly name: string;
  readonly namespace: string;
  readonly containers: readonly ContainerResourceUse[];
}

export interface AllocatableResources {
  readonly devices: readonly ResourceDevice[];
  readonly cpus: readonly number[];
  readonly memory: readonly ResourceMemory[];
}

/** Answers the requests. The client receives the message of an error. */
export interface PodResourcesApi {
  list(): readonly PodResourceUse[];
  /** Returns a pod. Throws `NotFound`. */
  get(namespace: string, name: string): PodResourceUse;
  allocatable(): AllocatableResources;
  /** Returns the answer of v1alpha1. */
  listOld(): readonly PodResourceUse[];
}

export interface PodResourcesServer {
  /** Serves the API. Requests above its rate limit are refused. A stale socket must be removed before. */
  serve(socketPath: string, api: PodResourcesApi): Promise<{ close(): void }>;
}
