/** Drivers of dynamic resource allocation on this node. */
export interface DraDrivers {
  /** `version` is `v1` or `v1beta1`. Nothing is connected before the first call. */
  open(socketPath: string, version: DraDriverVersion, onCall?: (call: DraCallRecord) => void): DraDriver;
}

/** One call of `prepare` or `unprepare` that has ended. */
export interface DraCallRecord {
  /** `/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources`. */
  readonly method: string;
  /** `OK`, `Unavailable`: the name of the gRPC code. */
  readonly code: string;
  readonly durationMs: number;
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

/** A driver's health report for one device. */
export interface DeviceHealthReport {
  readonly poolName: string;
  readonly deviceName: string;
  readonly health: 'Healthy' | 'Unhealthy' | 'Unknown';
  /** How long the report holds; undefined where the driver leaves it to the kubelet. */
  readonly timeoutMs: number | undefined;
  readonly message: string;
}

/** Both calls may be repeated and take at most 45 s. They reject with `KubeletError`. */
export interface DraDriver {
  /** By the uid of the claim. */
  prepare(claims: readonly DraClaim[], signal: AbortSignal): Promise<ReadonlyMap<string, PreparedClaim>>;
  /** Errors by the uid of the claim; '' means success. */
  unprepare(claims: readonly DraClaim[], signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /**
   * All devices that the driver watches, at each change, until the driver ends it. Fails with `Unimplemented` when the
   * driver watches none.
   */
  watchHealth(signal: AbortSignal): AsyncIterable<readonly DeviceHealthReport[]>;
  /** Connects, and again whenever the driver went away; reports each change. The driver counts as away at the start. */
  followConnection(listener: (connected: boolean) => void): void;
  close(): void;
}
