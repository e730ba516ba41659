/** A plugin's registration info. */
export interface PluginInfo {
  /** `CSIPlugin`, `DevicePlugin`, `DRAPlugin`, or another value that the plugin sends. */
  readonly type: string;
  readonly name: string;
  /** The socket of its service; '' means the registration socket. */
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

export interface PluginConnection {
  /** Requests the info. Rejects with a message in a gRPC client's format. */
  getInfo(timeoutMs: number): Promise<PluginInfo>;
  notifyRegistrationStatus(status: { registered: boolean; error: string }, timeoutMs: number): Promise<void>;
  close(): void;
}

/** The sockets below `plugins_registry`. */
export interface PluginDial {
  /** Retries until it is connected. Rejects with Timeout when the limit has passed. */
  dial(socketPath: string, timeoutMs: number): Promise<PluginConnection>;
}
