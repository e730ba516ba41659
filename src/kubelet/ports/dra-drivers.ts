/** Drivers of dynamic resource allocation on this node. */
export interface DraDrivers {
  /** `version` is `v1` or `v1beta1`. Nothing is connected before the first call. */
  open(socketPath: string, version: DraDriverVersion): DraDriver;
}

export type DraDriverVersion = 'v1' | 'v1beta1';

export interface DraClaim {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

/** A device that a driver has prepared. */
export interface PreparedDevice {
  readonly poolName: string;
  readonly deviceName: string;
  /** The requests of the claim that it is for; none means all. */
  readonly requestNames: readonly string[];
  readonly cdiDeviceIds: readonly string[];
  readonly shareId: string | undefined;
}

export interface PreparedClaim {
  readonly devices: readonly PreparedDevice[];
  /** Why it failed; '' means success. */
  readonly error: string;
}

/** Both calls may be repeated and take at most 45 s. They reject with `KubeletError`. */
export interface DraDriver {
  /** By the uid of the claim. */
  prepare(claims: readonly DraClaim[], signal: AbortSignal): Promise<ReadonlyMap<string, PreparedClaim>>;
  /** Errors by the uid of the claim; '' means success. */
  unprepare(claims: readonly DraClaim[], signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
  close(): void;
}
