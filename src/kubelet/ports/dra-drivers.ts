/** Drivers of dynamic resource allocation on this node. */
export interface DraDrivers {
  /** Opens a driver. `version` is `v1` or `v1beta1`. Nothing is connected before the first call. */
  open(socketPath: string, version: DraDriverVersion, onCall?: (call: DraCallRecord) => void): DraDriver;
}

/** One call of `prepare` or `unprepare` that has ended. */
export interface DraCallRecord {
  /** For example `/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/NodePrepareResources`. */
  readonly method: string;
  /** The name of the gRPC code: `OK`, `Unavailable` ... */
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
  /** The requests of the claim for which the device is; none means all. */
  readonly requestNames: readonly string[];
  readonly cdiDeviceIds: readonly string[];
  readonly shareId: string | undefined;
}

export interface PreparedClaim {
  readonly devices: readonly PreparedDevice[];
  /** The error; '' means success. */
  readonly error: string;
}

/** A driver's health report for one device. */
export interface DeviceHealthReport {
  readonly poolName: string;
  readonly deviceName: string;
  readonly health: 'Healthy' | 'Unhealthy' | 'Unknown';
  /** How long the report is valid; undefined if the driver leaves that to the kubelet. */
  readonly timeoutMs: number | undefined;
  readonly message: string;
}

/** A DRA driver. Both calls may be repeated and take at most 45 s. They reject with `KubeletError`. */
export interface DraDriver {
  /** Prepares claims. The results are by the UID of the claim. */
  prepare(claims: readonly DraClaim[], signal: AbortSignal): Promise<ReadonlyMap<string, PreparedClaim>>;
  /** Unprepares claims. The results are errors by the UID of the claim; '' means success. */
  unprepare(claims: readonly DraClaim[], signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /**
   * Sends all devices whose health the driver watches, at each change, until the driver ends it. Fails with
   * `Unimplemented` if the driver watches none.
   */
  watchHealth(signal: AbortSignal): AsyncIterable<readonly DeviceHealthReport[]>;
  /**
   * Connects, reconnects after each loss of the connection, and reports each change. The driver counts as disconnected
   * at the start.
   */
  followConnection(listener: (connected: boolean) => void): void;
  close(): void;
}
