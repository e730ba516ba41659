/** The kubelet's device plugin API v1beta1. */

/** A device as its plugin lists it. */
export interface PluginDevice {
  readonly id: string;
  readonly healthy: boolean;
  /** The NUMA nodes near the device; none if the plugin does not report them. */
  readonly numaNodes: readonly number[];
}

export interface DevicePluginOptions {
  /** Whether `preStart` must be called before each start of a container. */
  readonly preStartRequired: boolean;
  readonly preferredAllocationAvailable: boolean;
}

/** What a container needs to use its devices. */
export interface DeviceAllocation {
  readonly envs: Readonly<Record<string, string>>;
  readonly mounts: readonly { readonly containerPath: string; readonly hostPath: string; readonly readOnly: boolean }[];
  readonly devices: readonly {
    readonly containerPath: string;
    readonly hostPath: string;
    readonly permissions: string;
  }[];
  readonly annotations: Readonly<Record<string, string>>;
  /** Names such as `vendor.com/class=name`. */
  readonly cdiDevices: readonly string[];
}

export interface PreferenceRequest {
  readonly available: readonly string[];
  readonly mustInclude: readonly string[];
  readonly size: number;
}

interface CallLimits {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** A connected plugin. Calls reject with a message in a gRPC client's format, and after `close` with `Aborted`. */
export interface DevicePluginConnection {
  options(limits: CallLimits): Promise<DevicePluginOptions>;
  /** Sends all devices immediately, and again after each change. Ends or rejects when the plugin ends. */
  listAndWatch(signal: AbortSignal): AsyncIterable<readonly PluginDevice[]>;
  /** Returns the plugin's response for one container; undefined if the response contains no container. */
  allocate(ids: readonly string[], limits: CallLimits): Promise<DeviceAllocation | undefined>;
  preferredAllocation(request: PreferenceRequest, limits: CallLimits): Promise<readonly string[]>;
  preStart(ids: readonly string[], limits: CallLimits): Promise<void>;
  close(): void;
}

/** A plugin that registers at the agent's socket. */
export interface DevicePluginRegistration {
  readonly version: string;
  /** The file name of its socket in the folder of the agent's socket. */
  readonly endpoint: string;
  readonly resource: string;
}

export interface DevicePlugins {
  /** Retries until it is connected. Rejects with Timeout when the limit has passed. */
  connect(socketPath: string, timeoutMs: number): Promise<DevicePluginConnection>;
  /** Serves registrations. A stale socket must be removed before. `register` rejects with the reason of a refusal. */
  serveRegistration(
    socketPath: string,
    register: (registration: DevicePluginRegistration) => Promise<void>,
  ): Promise<{ close(): void }>;
  /** Encodes an allocation as the plugin's own message, which upstream's checkpoint contains. */
  encodeAllocation(allocation: DeviceAllocation): Uint8Array;
  /** Decodes an allocation. Throws for invalid bytes. */
  decodeAllocation(bytes: Uint8Array): DeviceAllocation;
}
