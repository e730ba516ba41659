import type { Service, ServiceSpec } from './core/service.ts';

type FamilyFields = Pick<ServiceSpec, 'type' | 'ipFamilyPolicy' | 'ipFamilies' | 'clusterIPs'>;

/**
 * Whether an update keeps the addresses of a service with PreferDualStack: it neither gets a second address nor loses
 * one, even if the cluster's ranges have changed (upstream: isMatchingPreferDualStackClusterIPFields).
 */
export function staysPreferred({ spec }: { readonly spec: FamilyFields }, old: Service | undefined): boolean {
  if (old === undefined || spec.type === 'ExternalName' || spec.type !== old.spec.type) return false;
  const before = old.spec;
  return (
    spec.ipFamilyPolicy === 'PreferDualStack' &&
    (before.ipFamilyPolicy ?? 'PreferDualStack') === 'PreferDualStack' &&
    sameTexts(spec.clusterIPs, before.clusterIPs) &&
    sameTexts(spec.ipFamilies, before.ipFamilies)
  );
}

export const sameTexts = (one: readonly string[] = [], other: readonly string[] = []): boolean =>
  one.length === other.length && one.every((item, index) => item === other[index]);
