import type { DeepPartial } from '../grpc/message-fns.ts';
import type { CheckpointContainerRequest, ExecSyncRequest, StopContainerRequest } from './generated/cri-v1.ts';

/** The default of the kubelet's `runtimeRequestTimeout`. */
export const DEFAULT_REQUEST_TIMEOUT_MS = 2 * 60_000;

const seconds = (value: string | number | bigint | undefined): number => Number(value ?? 0);

/**
 * The deadline of a call in milliseconds; `Infinity` means none. `rpc` is the method name in the protocol. Calls with a
 * duration chosen by the caller (grace period, exec timeout) get it in addition to the configured limit, so that the
 * runtime's own timeout expires first (upstream: cri-client remote_runtime.go, remote_image.go).
 */
export function computeTimeoutMs(rpc: string, request: unknown, requestTimeoutMs: number): number {
  switch (rpc) {
    case 'RunPodSandbox':
      return requestTimeoutMs * 2;
    case 'StopContainer':
      return requestTimeoutMs + 1000 * Math.max(0, seconds((request as DeepPartial<StopContainerRequest>).timeout));
    case 'ExecSync': {
      const execSeconds = seconds((request as DeepPartial<ExecSyncRequest>).timeout);
      return execSeconds > 0 ? requestTimeoutMs + 1000 * execSeconds : Infinity;
    }
    case 'CheckpointContainer':
      return Math.max(requestTimeoutMs, 1000 * seconds((request as DeepPartial<CheckpointContainerRequest>).timeout));
    case 'PullImage':
    case 'GetContainerEvents':
      return Infinity;
    default:
      return requestTimeoutMs;
  }
}
