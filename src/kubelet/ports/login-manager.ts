/** The part of systemd-logind that shuts the machine down. */
export interface LoginManager {
  /** Opens a connection. Rejects with Unavailable if logind cannot be reached. */
  connect(): Promise<LoginConnection>;
}

/**
 * One connection to logind. Calls reject with Unavailable if the connection or logind has ended, and with Timeout if it
 * does not answer.
 */
export interface LoginConnection {
  /** Returns how long logind waits for locks of mode `delay`, in milliseconds. */
  inhibitDelayMaxMs(): Promise<number>;
  /**
   * Sets that time for this and later starts of the machine, and makes logind read it. Only `inhibitDelayMaxMs` shows
   * whether logind uses it.
   */
  overrideInhibitDelayMax(delayMs: number): Promise<void>;
  /** Whether a shutdown was announced and the machine is still running. */
  isPreparingForShutdown(): Promise<boolean>;
  /** Takes a lock that delays a shutdown. Rejects while a shutdown is in progress. */
  inhibitShutdown(why: { readonly who: string; readonly why: string }): Promise<InhibitorLock>;
  /**
   * Calls the listener with `true` when the machine is about to shut down, and with `false` when that was cancelled.
   */
  onPrepareForShutdown(listener: (isStarting: boolean) => void): void;
  /** Calls the listener when the connection was lost or closed. */
  onClose(listener: () => void): void;
  close(): void;
}

/** A lock. It ends with the agent's process, and does not depend on the connection. */
export interface InhibitorLock {
  release(): void;
  /** Calls `listener` when the lock ends without `release`. */
  onLost(listener: () => void): void;
}
