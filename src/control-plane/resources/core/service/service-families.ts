import type { Service, ServiceSpec } from '../../../../api/core/service.ts';
import { staysPreferred } from '../../../../api/service-families.ts';
import { invalid } from '../../../../api/status/api-status-error.ts';
import { FieldErrors } from '../../../../api/validation/field-error.ts';
import { familyOf } from './address-range.ts';
import { isHeadless } from './service-rules.ts';

type Family = 'IPv4' | 'IPv6';
type Families = Pick<ServiceSpec, 'ipFamilies' | 'ipFamilyPolicy'>;

/**
 * The IP families of a service that needs addresses. The first of `configured` is the cluster's default. Throws Invalid
 * for a family that the cluster does not have. Upstream: initIPFamilyFields.
 */
export function computeFamilies(service: Service, old: Service | undefined, configured: readonly Family[]): Families {
  const { spec, metadata } = service;
  if (staysPreferred(service, old)) return {};
  const errors = new FieldErrors();
  const bare = isHeadless(service) && Object.keys(spec.selector ?? {}).length === 0;
  const ipFamilyPolicy = spec.ipFamilyPolicy ?? (bare ? 'RequireDualStack' : 'SingleStack');
  const clusterIPs = (spec.clusterIPs ?? []).filter((ip) => ip !== 'None');
  const ipFamilies: ('' | Family)[] = [...(spec.ipFamilies ?? [])];
  if (ipFamilyPolicy === 'SingleStack') {
    const why = (what: string): string =>
      `must be 'RequireDualStack' or 'PreferDualStack' when multiple ${what} are specified`;
    if (clusterIPs.length === 2) errors.invalid('spec.ipFamilyPolicy', ipFamilyPolicy, why('cluster IPs'));
    if (ipFamilies.length === 2) errors.invalid('spec.ipFamilyPolicy', ipFamilyPolicy, why('IP families'));
  }
  for (const [index, ip] of clusterIPs.entries()) {
    if (index < ipFamilies.length) continue;
    if (configured.includes(familyOf(ip))) ipFamilies.push(familyOf(ip));
    else errors.invalid(`spec.clusterIPs[${index}]`, clusterIPs, `${familyOf(ip)} is not configured on this cluster`);
  }
  const refuse = (): void => {
    if (errors.list.length > 0) throw invalid({ group: '', kind: 'Service' }, metadata.name, errors.list);
  };
  refuse();
  const [primary = 'IPv4'] = configured;
  // Without a selector its endpoints may be outside the cluster, so both families are possible.
  if (bare)
    return {
      ipFamilyPolicy,
      ipFamilies: withOther(ipFamilies.length === 0 ? [primary] : ipFamilies, ipFamilyPolicy !== 'SingleStack'),
    };
  if (ipFamilyPolicy === 'RequireDualStack' && configured.length < 2)
    errors.invalid(
      'spec.ipFamilyPolicy',
      ipFamilyPolicy,
      'this cluster is not configured for dual-stack services: name a range of each family in --service-cluster-ip-range',
    );
  for (const [index, family] of ipFamilies.entries())
    if (family === '' || !configured.includes(family))
      errors.invalid(`spec.ipFamilies[${index}]`, family, 'not configured on this cluster');
  refuse();
  return {
    ipFamilyPolicy,
    ipFamilies: withOther(
      ipFamilies.length === 0 ? [primary] : ipFamilies,
      ipFamilyPolicy !== 'SingleStack' && configured.length === 2,
    ),
  };
}

function withOther(families: ('' | Family)[], wanted: boolean): ('' | Family)[] {
  return !wanted || families.length > 1 ? families : [...families, families[0] === 'IPv4' ? 'IPv6' : 'IPv4'];
}
