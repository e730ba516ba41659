/** A plugin's registration info. */
export interface PluginInfo {
  /** `CSIPlugin`, `DevicePlugin`, `DRAPlugin`; any value the plugin sends. */
  readonly type: string;
  readonly name: string;
  /** The socket of its own service; '' means the registration socket. */
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

export interface PluginConnection {
  /** Rejects with a message in a gRPC client's format. */
  getInfo(timeoutMs: number): Promise<PluginInfo>;
  notifyRegistrationStatus(status: { registered: boolean; error: string }, timeoutMs: number): Promise<void>;
  close(): void;
}

/** The sockets below `plugins_registry`. */
export interface PluginDial {
  /** Retries until it is connected; rejects with Timeout when the limit has passed. */
  dial(socketPath: string, timeoutMs: number): Promise<PluginConnection>;
}
