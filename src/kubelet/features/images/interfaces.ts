import type { Secret } from '../../../api/core/secret.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { AnyContainer } from '../../../api/pod.ts';
import type { PodUid } from '../../model/ids.ts';

/** The default user of the image. A number has precedence over a name. */
export interface ImageUser {
  readonly uid?: number;
  readonly username: string;
}

/** The result for an image. `reason` is a waiting reason, and `retryAtMs` is wall-clock time. */
export type ImageOutcome =
  | { kind: 'present'; imageRef: string; user: ImageUser }
  | { kind: 'failed'; reason: string; message: string; retryAtMs?: number };

export interface EnsureRequest {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly runtimeHandler: string;
  readonly signal: AbortSignal;
}

export interface VolumeRequest {
  readonly pod: Pod;
  readonly volume: string;
  readonly reference: string;
  readonly pullPolicy: string | undefined;
  readonly runtimeHandler: string;
  readonly signal: AbortSignal;
}

/** Returns a secret of the pod's namespace; undefined if it does not exist. May reject if that is unknown. */
export interface SecretLookup {
  secret(namespace: string, name: string): Promise<Secret | undefined> | Secret | undefined;
}

/** Registers slow work for a pod. The returned function unregisters it. */
export interface Activity {
  begin(uid: PodUid, step: string, cause: string): () => void;
}

/** Returns how much of a file system is used, as `df` reports it. Rejects with NotFound or Unavailable. */
export interface DiskUsage {
  diskUsage(path: string): Promise<{ capacityBytes: number; availableBytes: number }>;
}

/** Records events about the node. */
export interface NodeEvents {
  nodeEvent(type: 'Normal' | 'Warning', reason: string, message: string): void;
}
