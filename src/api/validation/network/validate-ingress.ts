import { parseSloppyIp } from '../../../base/ip-address.ts';
import type { TypedLocalObjectReference } from '../../core/meta.ts';
import type {
  HTTPIngressPath,
  Ingress,
  IngressBackend,
  IngressRule,
  IngressServiceBackend,
  IngressSpec,
  IngressTLS,
} from '../../networking/ingress.ts';
import { INGRESS_CLASS_ANNOTATION } from '../../networking/ingress-class.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import {
  checkDnsLabel,
  checkDnsSubdomain,
  checkPathSegment,
  checkPortName,
  checkPortNumber,
  checkStrictIp,
  checkWildcardDnsSubdomain,
} from '../names.ts';

/** Faults of the stored object that an update may keep (upstream: IngressValidationOptions). */
interface Tolerance {
  readonly anySecretName: boolean;
  readonly anyWildcardRule: boolean;
}
const strict: Tolerance = { anySecretName: false, anyWildcardRule: false };

/** Validates an Ingress, except its metadata (upstream: networking/validation ValidateIngressCreate). */
export function validateIngress({ metadata, spec }: Ingress): FieldError[] {
  const errors = new FieldErrors();
  validateSpec(errors, spec, strict);
  const annotation = metadata.annotations?.[INGRESS_CLASS_ANNOTATION];
  if (annotation !== undefined && spec.ingressClassName !== undefined && annotation !== spec.ingressClassName)
    errors.invalid(
      `annotations.${INGRESS_CLASS_ANNOTATION}`,
      annotation,
      'must match `ingressClassName` when both are specified',
    );
  return errors.list;
}

export function validateIngressUpdate({ spec }: Ingress, { spec: old }: Ingress): FieldError[] {
  const errors = new FieldErrors();
  validateSpec(errors, spec, {
    anySecretName: (old.tls ?? []).some(({ secretName = '' }) => !isSecretName(secretName)),
    anyWildcardRule: (old.rules ?? []).some((rule) => isWildcard(rule) && !isValidRule(rule)),
  });
  return errors.list;
}

/** Addresses that were there before are not checked again (upstream: ValidateIngressLoadBalancerStatus). */
export function validateIngressStatus({ status }: Ingress, { status: old }: Ingress): FieldError[] {
  const errors = new FieldErrors();
  const known = new Set((old?.loadBalancer?.ingress ?? []).map(({ ip }) => ip));
  for (const [index, { ip = '', hostname = '' }] of (status?.loadBalancer?.ingress ?? []).entries()) {
    const path = `status.loadBalancer.ingress[${index}]`;
    if (ip !== '' && !known.has(ip)) errors.invalidEach(`${path}.ip`, ip, checkStrictIp(ip));
    if (hostname === '') continue;
    errors.invalidEach(`${path}.hostname`, hostname, checkDnsSubdomain(hostname));
    refuseAddress(errors, `${path}.hostname`, hostname);
  }
  return errors.list;
}

function validateSpec(errors: FieldErrors, spec: IngressSpec, tolerance: Tolerance): void {
  const { rules = [], tls = [], defaultBackend, ingressClassName } = spec;
  if (rules.length === 0 && defaultBackend === undefined)
    errors.invalid('spec', spec.rules ?? null, 'either `defaultBackend` or `rules` must be specified');
  if (defaultBackend !== undefined) validateBackend(errors, 'spec.defaultBackend', defaultBackend);
  for (const [index, rule] of rules.entries()) validateRule(errors, `spec.rules[${index}]`, rule, tolerance);
  for (const [index, each] of tls.entries()) validateTls(errors, `spec.tls[${index}]`, each, tolerance);
  if (ingressClassName !== undefined)
    errors.invalidEach('spec.ingressClassName', ingressClassName, checkDnsSubdomain(ingressClassName));
}

const checkHost = (host: string): readonly string[] =>
  host.includes('*') ? checkWildcardDnsSubdomain(host) : checkDnsSubdomain(host);

const isWildcard = ({ host = '' }: IngressRule): boolean => host.includes('*');

function isValidRule(rule: IngressRule): boolean {
  const errors = new FieldErrors();
  validatePaths(errors, '', rule);
  return errors.list.length === 0;
}

const isSecretName = (name: string): boolean => name === '' || checkDnsSubdomain(name).length === 0;

function refuseAddress(errors: FieldErrors, field: string, host: string): void {
  if (parseSloppyIp(host) !== undefined) errors.invalid(field, host, 'must be a DNS name, not an IP address');
}

function validateTls(
  errors: FieldErrors,
  path: string,
  { hosts = [], secretName = '' }: IngressTLS,
  { anySecretName }: Tolerance,
): void {
  for (const [index, host] of hosts.entries()) errors.invalidEach(`${path}.hosts[${index}]`, host, checkHost(host));
  if (!anySecretName && secretName !== '')
    errors.invalidEach(`${path}.secretName`, secretName, checkDnsSubdomain(secretName));
}

function validateRule(errors: FieldErrors, path: string, rule: IngressRule, { anyWildcardRule }: Tolerance): void {
  const { host = '' } = rule;
  if (host !== '') {
    refuseAddress(errors, `${path}.host`, host);
    errors.invalidEach(`${path}.host`, host, checkHost(host));
  }
  if (!isWildcard(rule) || !anyWildcardRule) validatePaths(errors, path, rule);
}

function validatePaths(errors: FieldErrors, path: string, { http }: IngressRule): void {
  if (http === undefined) return;
  if (http.paths.length === 0) errors.required(`${path}.http.paths`);
  for (const [index, each] of http.paths.entries()) validatePath(errors, `${path}.http.paths[${index}]`, each);
}

const refusedParts = ['//', '/./', '/../', '%2f', '%2F'];
const refusedEnds = ['/..', '/.'];

function validatePath(errors: FieldErrors, at: string, { path = '', pathType, backend }: HTTPIngressPath): void {
  if (pathType === undefined) return errors.required(`${at}.pathType`, 'pathType must be specified');
  const isLiteral = pathType === 'Exact' || pathType === 'Prefix';
  if (!isLiteral && pathType !== 'ImplementationSpecific')
    errors.notSupported(`${at}.pathType`, pathType, ['Exact', 'ImplementationSpecific', 'Prefix']);
  else if (!path.startsWith('/') && (isLiteral || path !== ''))
    errors.invalid(`${at}.path`, path, 'must be an absolute path');
  if (isLiteral && path !== '') {
    for (const part of refusedParts)
      if (path.includes(part)) errors.invalid(`${at}.path`, path, `must not contain '${part}'`);
    for (const end of refusedEnds)
      if (path.endsWith(end)) errors.invalid(`${at}.path`, path, `cannot end with '${end}'`);
  }
  validateBackend(errors, `${at}.backend`, backend);
}

function validateBackend(errors: FieldErrors, path: string, { resource, service }: IngressBackend): void {
  if (resource !== undefined && service !== undefined)
    errors.invalid(path, '', 'cannot set both resource and service backends');
  else if (resource !== undefined) validateReference(errors, `${path}.resource`, resource);
  else if (service !== undefined) validateService(errors, path, service);
  else errors.invalid(path, '', 'resource or service backend is required');
}

function validateService(errors: FieldErrors, path: string, { name, port }: IngressServiceBackend): void {
  if (name === '') errors.required(`${path}.service.name`);
  else errors.invalidEach(`${path}.service.name`, name, checkDnsLabel(name));
  const { name: portName = '', number = 0 } = port;
  if (portName !== '' && number !== 0) errors.invalid(path, '', 'cannot set both port name & port number');
  else if (portName !== '') errors.invalidEach(`${path}.service.port.name`, portName, checkPortName(portName));
  else if (number !== 0) errors.invalidEach(`${path}.service.port.number`, number, checkPortNumber(number));
  else errors.required(path, 'port name or number is required');
}

/** Validates a reference to an object by kind and name (upstream: validateIngressTypedLocalObjectReference). */
export function validateReference(errors: FieldErrors, path: string, reference: TypedLocalObjectReference): void {
  const { apiGroup, kind, name } = reference;
  if (apiGroup !== undefined) errors.invalidEach(`${path}.apiGroup`, apiGroup, checkDnsSubdomain(apiGroup));
  for (const [field, value] of [
    ['kind', kind],
    ['name', name],
  ] as const)
    if (value === '') errors.required(`${path}.${field}`);
    else errors.invalidEach(`${path}.${field}`, value, checkPathSegment(value));
}
