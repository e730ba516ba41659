/** The part of the CSI v1 node service that the agent uses. The names are those of the specification, in camel case. */

export type CsiNodeCapability =
  | 'STAGE_UNSTAGE_VOLUME'
  | 'GET_VOLUME_STATS'
  | 'EXPAND_VOLUME'
  | 'VOLUME_CONDITION'
  | 'SINGLE_NODE_MULTI_WRITER'
  | 'VOLUME_MOUNT_GROUP';

export type CsiAccessMode =
  | 'UNKNOWN'
  | 'SINGLE_NODE_WRITER'
  | 'SINGLE_NODE_READER_ONLY'
  | 'MULTI_NODE_READER_ONLY'
  | 'MULTI_NODE_SINGLE_WRITER'
  | 'MULTI_NODE_MULTI_WRITER'
  | 'SINGLE_NODE_SINGLE_WRITER'
  | 'SINGLE_NODE_MULTI_WRITER';

type Strings = Readonly<Record<string, string>>;

export interface CsiMountAccess {
  readonly kind: 'mount';
  /** The type of the file system; '' lets the driver choose. */
  readonly fsType: string;
  readonly mountFlags: readonly string[];
  /** A group id in decimal; '' for none. */
  readonly mountGroup: string;
}

export interface CsiVolumeCapability {
  readonly accessMode: CsiAccessMode;
  readonly access: CsiMountAccess | { readonly kind: 'block' };
}

export interface CsiStageRequest {
  readonly volumeId: string;
  readonly publishContext: Strings;
  readonly stagingPath: string;
  readonly capability: CsiVolumeCapability;
  readonly secrets: Strings;
  readonly volumeContext: Strings;
}

export interface CsiPublishRequest extends CsiStageRequest {
  readonly targetPath: string;
  readonly readOnly: boolean;
}

export interface CsiExpandRequest {
  readonly volumeId: string;
  readonly volumePath: string;
  readonly stagingPath: string;
  readonly requiredBytes: number;
  readonly capability: CsiVolumeCapability;
  readonly secrets: Strings;
}

export interface CsiNodeInfo {
  readonly nodeId: string;
  /** The reported limit; 0 for none. */
  readonly maxVolumesPerNode: number;
  readonly topology: Strings;
}

export interface CsiUsage {
  readonly unit: 'BYTES' | 'INODES' | 'UNKNOWN';
  readonly available: number;
  readonly total: number;
  readonly used: number;
}

export interface CsiStats {
  readonly usage: readonly CsiUsage[];
  readonly condition: { readonly abnormal: boolean; readonly message: string } | undefined;
}

/** A gRPC code, as Go spells it. `Local` means that the call was not sent. */
export type CsiFailureCode =
  | 'Local'
  | 'Canceled'
  | 'Unknown'
  | 'InvalidArgument'
  | 'DeadlineExceeded'
  | 'NotFound'
  | 'AlreadyExists'
  | 'PermissionDenied'
  | 'ResourceExhausted'
  | 'FailedPrecondition'
  | 'Aborted'
  | 'OutOfRange'
  | 'Unimplemented'
  | 'Internal'
  | 'Unavailable'
  | 'DataLoss'
  | 'Unauthenticated';

/** A driver's response. From the code the caller decides whether the operation has ended or may still be running. */
export type CsiAnswer<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly code: CsiFailureCode; readonly message: string };

/**
 * The node service of one driver. Each call has its own connection and time limit, so that a driver may be restarted at
 * any time. Never rejects.
 */
export interface CsiNode {
  getInfo(timeoutMs: number): Promise<CsiAnswer<CsiNodeInfo>>;
  getCapabilities(timeoutMs: number): Promise<CsiAnswer<readonly CsiNodeCapability[]>>;
  stage(request: CsiStageRequest, timeoutMs: number): Promise<CsiAnswer<void>>;
  unstage(request: { volumeId: string; stagingPath: string }, timeoutMs: number): Promise<CsiAnswer<void>>;
  publish(request: CsiPublishRequest, timeoutMs: number): Promise<CsiAnswer<void>>;
  unpublish(request: { volumeId: string; targetPath: string }, timeoutMs: number): Promise<CsiAnswer<void>>;
  /** Resolves to the size that the driver reports, or 0 if it reports none. */
  expand(request: CsiExpandRequest, timeoutMs: number): Promise<CsiAnswer<number>>;
  stats(request: { volumeId: string; volumePath: string }, timeoutMs: number): Promise<CsiAnswer<CsiStats>>;
}

export interface CsiDrivers {
  /** Returns the client of a driver. `endpoint` is the path of its socket. It connects at each call, not here. */
  node(endpoint: string, name: string): CsiNode;
}
