/** What a plugin says of itself when it registers. */
export interface PluginInfo {
  /** `CSIPlugin`, `DevicePlugin`, `DRAPlugin`; whatever the plugin says. */
  readonly type: string;
  readonly name: string;
  /** Where its own service listens; '' means on the socket it registers by. */
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

export interface PluginConnection {
  /** Rejects with a message as a gRPC client prints it. */
  getInfo(timeoutMs: number): Promise<PluginInfo>;
  notifyRegistrationStatus(status: { registered: boolean; error: string }, timeoutMs: number): Promise<void>;
  close(): void;
}

/** The sockets below `plugins_registry`. */
export interface PluginDial {
  /** Tries until it is connected; rejects with Timeout when the limit has passed. */
  dial(socketPath: string, timeoutMs: number): Promise<PluginConnection>;
}
