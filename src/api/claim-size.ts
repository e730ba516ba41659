import type { PersistentVolumeClaim } from './core/persistent-volume-claim.ts';
import { compareQuantities } from './quantity.ts';

/** The storage that a claim requests, as a quantity; 0 if it requests none. */
export const requestedStorage = ({ spec }: Pick<PersistentVolumeClaim, 'spec'>): string =>
  spec.resources?.requests?.['storage'] ?? '0';

/** The storage that a claim has, according to its status. */
export const grantedStorage = ({ status }: Pick<PersistentVolumeClaim, 'status'>): string =>
  status?.capacity?.['storage'] ?? '0';

/** Whether the claim is bound and requests more than it has. */
export function wantsExpansion(claim: PersistentVolumeClaim): boolean {
  return claim.status?.phase === 'Bound' && compareQuantities(requestedStorage(claim), grantedStorage(claim)) > 0;
}
