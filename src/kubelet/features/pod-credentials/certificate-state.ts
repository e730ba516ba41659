import type { PodCertificateRequest } from '../../../api/certificates/pod-certificate-request.ts';
import { parseTime } from '../../../api/time.ts';
import { readPemBlocks } from '../../../base/pem-blocks.ts';
import { toPem } from '../../../pki/pem.ts';

/** A refresh that takes longer than this is reported. */
export const REFRESH_OVERDUE_MS = 10 * 60_000;
const LONGEST_JITTER_MS = 5 * 60_000;

/** A certificate with its key. Times are wall-clock milliseconds. */
export interface Credential {
  readonly key: string;
  readonly chain: string;
  readonly refreshAtMs: number;
  readonly notAfterMs: number;
}

/** A request that exists in the API server, and its key. */
export interface PendingRequest {
  readonly name: string;
  readonly key: string;
}

/**
 * The state of one certificate: nothing → requested → issued ⟲ requested again while the old one is in use. A request
 * that a signer has refused is not made again (upstream: podcertificatemanager.go projectionRecord).
 */
export type CertificateState =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'requested'; readonly pending: PendingRequest; readonly current: Credential | undefined }
  | { readonly kind: 'issued'; readonly current: Credential }
  | {
      readonly kind: 'refused';
      readonly verdict: 'Denied' | 'Failed';
      readonly reason: string;
      readonly message: string;
    };

/** The phase of a certificate, as in upstream's metric (podcertificatemanager.go metricsState). */
export type CertificatePhase = 'not_yet_issued' | 'denied' | 'failed' | 'fresh' | 'overdue_for_refresh' | 'expired';

/** Returns the phase. `nowMs` is wall-clock time. */
export function certificatePhase(state: CertificateState, nowMs: number): CertificatePhase {
  if (state.kind === 'refused') return state.verdict === 'Denied' ? 'denied' : 'failed';
  if (state.kind === 'nothing' || state.current === undefined) return 'not_yet_issued';
  if (nowMs > state.current.notAfterMs) return 'expired';
  return nowMs > state.current.refreshAtMs + REFRESH_OVERDUE_MS ? 'overdue_for_refresh' : 'fresh';
}

/**
 * Returns the state after an answer. `request` is undefined if it was deleted before it was answered; then it is made
 * again. `chance` in [0, 1) spreads the refreshes of many pods.
 */
export function nextCertificateState(
  state: CertificateState,
  request: PodCertificateRequest | undefined,
  chance: number,
): CertificateState {
  if (state.kind !== 'requested') return state;
  if (request === undefined)
    return state.current === undefined ? { kind: 'nothing' } : { kind: 'issued', current: state.current };
  const { conditions = [], certificateChain = '', beginRefreshAt, notAfter } = request.status ?? {};
  for (const { type, reason, message } of conditions) {
    if (type === 'Denied' || type === 'Failed') return { kind: 'refused', verdict: type, reason, message };
    if (type !== 'Issued') continue;
    const notAfterMs = parseTime(notAfter) ?? 0;
    const refreshAtMs = (parseTime(beginRefreshAt) ?? notAfterMs) + chance * LONGEST_JITTER_MS;
    return {
      kind: 'issued',
      current: {
        key: state.pending.key,
        chain: readPemBlocks(certificateChain)
          .map(({ der }) => toPem('CERTIFICATE', der))
          .join(''),
        refreshAtMs,
        notAfterMs,
      },
    };
  }
  return state;
}
