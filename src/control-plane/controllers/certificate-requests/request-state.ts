import type { CertificateSigningRequest } from '../../../api/certificates/certificate-signing-request.ts';

const has = ({ status }: CertificateSigningRequest, type: string): boolean =>
  (status?.conditions ?? []).some((condition) => condition.type === type);

export const isApproved = (request: CertificateSigningRequest): boolean => has(request, 'Approved');
export const isDenied = (request: CertificateSigningRequest): boolean => has(request, 'Denied');
export const isFailed = (request: CertificateSigningRequest): boolean => has(request, 'Failed');
export const isIssued = ({ status }: CertificateSigningRequest): boolean => (status?.certificate ?? '') !== '';

const HOUR_MS = 3_600_000;
/** How long requests are kept after a decision, and how long they may stay pending (upstream: certificates cleaner). */
const keptMs = { answered: HOUR_MS, pending: 24 * HOUR_MS };

/**
 * When a request is deleted, in milliseconds since 1970. `expiresAtMs` is the end of the certificate that was issued
 * for it.
 */
export function removableAtMs(request: CertificateSigningRequest, expiresAtMs: number | undefined): number {
  const conditions = request.status?.conditions ?? [];
  const answered = conditions.filter(
    ({ type }) => type === 'Denied' || type === 'Failed' || (type === 'Approved' && isIssued(request)),
  );
  const created = Date.parse(request.metadata.creationTimestamp ?? '') || 0;
  const atMs = answered.map(({ lastUpdateTime }) => (Date.parse(lastUpdateTime ?? '') || created) + keptMs.answered);
  return Math.min(created + keptMs.pending, expiresAtMs ?? Infinity, ...atMs);
}
