import type { Service, ServiceSpec } from '../../core/service.ts';
import { staysPreferred } from '../../service-families.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { checkDnsSubdomain, checkStrictIp } from '../names.ts';
import { validateClusterIps, validateServiceRules } from './validate-service.ts';

const FIXED = 'may not change once set';
const isHeadless = ({ clusterIPs = [] }: ServiceSpec): boolean => clusterIPs.length === 1 && clusterIPs[0] === 'None';
const needsHealthPort = ({ type, externalTrafficPolicy }: ServiceSpec): boolean =>
  type === 'LoadBalancer' && externalTrafficPolicy === 'Local';

/** Validates an update of a service (upstream: ValidateServiceUpdate). */
export function validateServiceUpdate(service: Service, old: Service): FieldError[] {
  const unclear = validateIntent(service, old);
  if (unclear.length > 0) return unclear;
  const errors = new FieldErrors();
  const { spec } = service;
  const before = old.spec;
  if (spec.type !== 'ExternalName' && before.type !== 'ExternalName') {
    if (!isHeadless(spec) || !isHeadless(before)) validateAddresses(errors, spec, before);
    if (!isHeadless(spec) && !isHeadless(before)) validateFamilies(errors, spec, before);
  }
  if (
    spec.type === 'LoadBalancer' &&
    before.type === 'LoadBalancer' &&
    spec.loadBalancerClass !== before.loadBalancerClass
  )
    errors.invalid('spec.loadBalancerClass', spec.loadBalancerClass ?? null, FIXED);
  if (
    needsHealthPort(spec) &&
    needsHealthPort(before) &&
    (spec.healthCheckNodePort ?? 0) !== (before.healthCheckNodePort ?? 0)
  )
    errors.forbidden('spec.healthCheckNodePort', 'field is immutable');
  validateServiceRules(errors, service, old);
  return errors.list;
}

/**
 * Checks that are needed before addresses are allocated or released; no other checks run before (upstream:
 * initIPFamilyFields).
 */
function validateIntent(service: Service, old: Service): FieldError[] {
  const [{ spec }, { spec: before }] = [service, old];
  if (spec.type === 'ExternalName' || staysPreferred(service, old)) return [];
  const errors = new FieldErrors();
  validateClusterIps(errors, spec, new Set(before.clusterIPs));
  if (errors.list.length > 0 || spec.ipFamilyPolicy === 'SingleStack') return errors.list;
  const isReduced = (now: readonly string[] = [], then: readonly string[] = []): boolean =>
    now.length > 0 && now.length < then.length;
  const refuse = (what: string): void =>
    errors.invalid('spec.ipFamilyPolicy', spec.ipFamilyPolicy ?? null, `must be 'SingleStack' to release the ${what}`);
  if (isReduced(spec.clusterIPs, before.clusterIPs)) refuse('secondary cluster IP');
  if (isReduced(spec.ipFamilies, before.ipFamilies)) refuse('secondary IP family');
  return errors.list;
}

/** The second address may be added and removed; the first one is immutable. */
function validateAddresses(
  errors: FieldErrors,
  { clusterIPs = [], ipFamilyPolicy }: ServiceSpec,
  { clusterIPs: before = [] }: ServiceSpec,
): void {
  const first = 'spec.clusterIPs[0]';
  if (before.length === clusterIPs.length) {
    for (const [index, ip] of before.entries())
      if (ip !== clusterIPs[index]) errors.invalid(`spec.clusterIPs[${index}]`, clusterIPs, FIXED);
    return;
  }
  if (clusterIPs.length === 0) errors.invalid(first, clusterIPs, 'primary clusterIP can not be unset');
  else if (before.length > 0 && clusterIPs[0] !== before[0]) errors.invalid(first, clusterIPs, FIXED);
  if (before.length > clusterIPs.length && clusterIPs.length === 1 && ipFamilyPolicy !== 'SingleStack') {
    errors.invalid(
      'spec.ipFamilyPolicy',
      ipFamilyPolicy ?? null,
      "must be set to 'SingleStack' when releasing the secondary clusterIP",
    );
  }
}

function validateFamilies(
  errors: FieldErrors,
  { ipFamilies = [], clusterIPs = [], ipFamilyPolicy }: ServiceSpec,
  { ipFamilies: before = [] }: ServiceSpec,
): void {
  const first = 'spec.ipFamilies[0]';
  if (before.length === ipFamilies.length) {
    for (const [index, family] of before.entries())
      if (family !== ipFamilies[index]) errors.invalid(first, ipFamilies, FIXED);
    return;
  }
  if (before.length > ipFamilies.length && clusterIPs.length === 0)
    errors.invalid(first, ipFamilies, 'primary ipFamily can not be unset');
  if (before.length > 0 && ipFamilies.length > 0 && ipFamilies[0] !== before[0])
    errors.invalid(first, clusterIPs, FIXED);
  if (before.length > ipFamilies.length && ipFamilies.length === 1 && ipFamilyPolicy !== 'SingleStack') {
    errors.invalid(
      'spec.ipFamilyPolicy',
      ipFamilyPolicy ?? null,
      "must be set to 'SingleStack' when releasing the secondary ipFamily",
    );
  }
}

/** Validates an update of the status (upstream: ValidateLoadBalancerStatus). */
export function validateServiceStatusUpdate({ spec, status }: Service, old: Service): FieldError[] {
  const errors = new FieldErrors();
  const field = 'status.loadBalancer.ingress';
  const ingress = status?.loadBalancer?.ingress ?? [];
  if (spec.type !== 'LoadBalancer' && ingress.length > 0) {
    errors.forbidden(field, "may only be used when `spec.type` is 'LoadBalancer'");
    return errors.list;
  }
  const known = new Set((old.status?.loadBalancer?.ingress ?? []).map(({ ip }) => ip));
  for (const [index, { ip = '', ipMode, hostname = '' }] of ingress.entries()) {
    const at = `${field}[${index}]`;
    if (ip !== '' && !known.has(ip)) errors.invalidEach(`${at}.ip`, ip, checkStrictIp(ip));
    if (ipMode === undefined && ip !== '') errors.required(`${at}.ipMode`, 'must be specified when `ip` is set');
    else if (ipMode !== undefined && ip === '')
      errors.forbidden(`${at}.ipMode`, 'may not be specified when `ip` is not set');
    else if (ipMode !== undefined) errors.oneOf(`${at}.ipMode`, ipMode, ['Proxy', 'VIP']);
    if (hostname === '') continue;
    errors.invalidEach(`${at}.hostname`, hostname, checkDnsSubdomain(hostname));
    if (checkStrictIp(hostname).length === 0)
      errors.invalid(`${at}.hostname`, hostname, 'must be a DNS name, not an IP address');
  }
  return errors.list;
}
