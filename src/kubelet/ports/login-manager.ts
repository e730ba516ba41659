/** systemd-logind, as far as it shuts the machine down. */
export interface LoginManager {
  /** Opens a connection. Rejects with Unavailable where logind cannot be reached. */
  connect(): Promise<LoginConnection>;
}

/**
 * One connection to logind. Calls reject with Unavailable when the connection or logind is gone, and with Timeout when
 * it does not answer.
 */
export interface LoginConnection {
  /** For how long logind waits for locks of mode `delay`, in milliseconds. */
  inhibitDelayMaxMs(): Promise<number>;
  /**
   * Sets that time for this and later starts of the machine, and lets logind read it. Whether logind uses it shows only
   * in `inhibitDelayMaxMs`.
   */
  overrideInhibitDelayMax(delayMs: number): Promise<void>;
  /** A shutdown has been announced and the machine is still up. */
  isPreparingForShutdown(): Promise<boolean>;
  /** Takes a lock that delays a shutdown. Rejects while a shutdown is in progress. */
  inhibitShutdown(why: { readonly who: string; readonly why: string }): Promise<InhibitorLock>;
  /** `true`: the machine is about to shut down; `false`: it is not any more. */
  onPrepareForShutdown(listener: (isStarting: boolean) => void): void;
  /** The connection was lost, or closed by this side. */
  onClose(listener: () => void): void;
  close(): void;
}

/** It ends with the agent's process, and does not depend on the connection. */
export interface InhibitorLock {
  release(): void;
  /** Calls `listener` when the lock ends without `release`. */
  onLost(listener: () => void): void;
}
