import { EXTENDED_CLAIM_ANNOTATION, POD_CLAIM_NAME_ANNOTATION } from '../../../api/resource/device-config.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { ClaimCount } from '../../controller-runtime/claim-metrics.ts';

/** Whether a request of the claim is for administrative access. */
export const hasAdminAccess = ({ spec }: Pick<ResourceClaim, 'spec'>): boolean =>
  (spec.devices.requests ?? []).some(({ exactly }) => exactly?.adminAccess === true);

/** Counts claims by their labels for metrics (upstream: resourceclaim controller customCollector). */
export function countClaims(claims: Iterable<ResourceClaim>): readonly ClaimCount[] {
  const counts = new Map<string, ClaimCount>();
  for (const claim of claims) {
    const { annotations } = claim.metadata;
    const allocated = claim.status?.allocation !== undefined;
    const adminAccess = hasAdminAccess(claim);
    const isExtended = annotations?.[EXTENDED_CLAIM_ANNOTATION] === 'true';
    const isGenerated = (annotations?.[POD_CLAIM_NAME_ANNOTATION] ?? '') !== '';
    const source = isExtended ? 'extended_resource' : isGenerated ? 'resource_claim_template' : '';
    const key = `${allocated} ${adminAccess} ${source}`;
    counts.set(key, { allocated, adminAccess, source, count: (counts.get(key)?.count ?? 0) + 1 });
  }
  return [...counts.values()];
}
