/** Device plugins v1beta1 of the kubelet, in this project's spelling. */

/** A device as its plugin lists it. */
export interface PluginDevice {
  readonly id: string;
  readonly healthy: boolean;
  /** The NUMA nodes it is near to; none when the plugin does not say. */
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
  /** `vendor.com/class=name`. */
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

/** A connected plugin. Calls reject with a message in a gRPC client's format; after `close` with `Aborted`. */
export interface DevicePluginConnection {
  options(limits: CallLimits): Promise<DevicePluginOptions>;
  /** All devices at once, and again after each change; ends or rejects when the plugin is gone. */
  listAndWatch(signal: AbortSignal): AsyncIterable<readonly PluginDevice[]>;
  /** The plugin's response for one container; undefined if the response contains no container. */
  allocate(ids: readonly string[], limits: CallLimits): Promise<DeviceAllocation | undefined>;
  preferredAllocation(request: PreferenceRequest, limits: CallLimits): Promise<readonly string[]>;
  preStart(ids: readonly string[], limits: CallLimits): Promise<void>;
  close(): void;
}

/** A plugin that registers at the agent's socket. */
export interface DevicePluginRegistration {
  readonly version: string;
  /** The file name of its socket, below the folder of the agent's socket. */
  readonly endpoint: string;
  readonly resource: string;
}

export interface DevicePlugins {
  /** Retries until it is connected; rejects with Timeout when the limit has passed. */
  connect(socketPath: string, timeoutMs: number): Promise<DevicePluginConnection>;
  /** Serves registrations; a stale socket must be removed before. `register` rejects with the reason of a refusal. */
  serveRegistration(
    socketPath: string,
    register: (registration: DevicePluginRegistration) => Promise<void>,
  ): Promise<{ close(): void }>;
  /** An allocation as upstream's checkpoint keeps it: the plugin's own message. */
  encodeAllocation(allocation: DeviceAllocation): Uint8Array;
  /** Throws for bytes that are no such message. */
  decodeAllocation(bytes: Uint8Array): DeviceAllocation;
}
