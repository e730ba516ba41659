import type { Service, ServicePort, ServiceSpec, SessionAffinityConfig } from '../../core/service.ts';
import { isExternallyReachable } from '../../defaults/default-service.ts';
import { validateEndpointIp } from './endpoint-ip.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateLabels, validateObjectMeta } from '../metadata.ts';
import {
  checkDnsLabel,
  checkDnsSubdomain,
  checkLabelKey,
  checkPortName,
  checkPortNumber,
  checkStrictCidr,
  checkStrictIp,
  isIpv6Text,
} from '../names.ts';

const LONGEST_AFFINITY_SECONDS = 86_400;
const HINTS_ANNOTATION = 'service.kubernetes.io/topology-aware-hints';
const SOURCE_RANGES_ANNOTATION = 'service.beta.kubernetes.io/load-balancer-source-ranges';
const MODE_ANNOTATION = 'service.kubernetes.io/topology-mode';

const isHeadless = ({ clusterIPs, clusterIP }: ServiceSpec): boolean =>
  (clusterIPs?.length === 1 && clusterIPs[0] === 'None') || clusterIP === 'None';

/**
 * Validates a new service after defaulting (upstream: ValidateServiceCreate). Addresses and ports that the API server
 * would allocate are not required.
 */
export function validateService(service: Service): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', service.metadata, { checkName: checkDnsLabel });
  validateServiceRules(errors, service, undefined);
  return errors.list;
}

/** The rules for services at any time (upstream: validateService). Addresses and ranges of `old` are accepted. */
export function validateServiceRules(errors: FieldErrors, service: Service, old: Service | undefined): void {
  const { metadata, spec } = service;
  const { [MODE_ANNOTATION]: mode, [HINTS_ANNOTATION]: hints } = metadata.annotations ?? {};
  if (mode !== undefined && hints !== undefined && mode !== hints)
    errors.invalid(
      `metadata.annotations[${MODE_ANNOTATION}]`,
      mode,
      `must match annotations[${HINTS_ANNOTATION}] when both are specified`,
    );
  const ports = spec.ports ?? [];
  if (ports.length === 0 && !isHeadless(spec) && spec.type !== 'ExternalName') errors.required('spec.ports');
  validateType(errors, spec);
  const names = new Set<string>();
  for (const [index, port] of ports.entries())
    validatePort(errors, `spec.ports[${index}]`, port, { needsName: ports.length > 1, names });
  validateLabels(errors, 'spec.selector', spec.selector);
  validateAffinity(errors, spec.sessionAffinity, spec.sessionAffinityConfig);
  if (spec.type !== 'ExternalName') validateClusterIps(errors, spec, new Set(old?.spec.clusterIPs));
  const external = new Set(old?.spec.externalIPs);
  for (const [index, ip] of (spec.externalIPs ?? []).entries())
    validateExternalIp(errors, `spec.externalIPs[${index}]`, ip, external);
  errors.oneOf('spec.type', spec.type ?? '', ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']);
  validatePortUse(errors, spec, ports);
  validateSourceRanges(errors, service, old);
  validateBalancer(errors, spec);
  validatePolicies(errors, service);
}

function validateType(errors: FieldErrors, spec: ServiceSpec): void {
  if ((spec.type === 'LoadBalancer' || spec.type === 'NodePort') && isHeadless(spec))
    errors.invalid('spec.clusterIPs[0]', 'None', `may not be set to 'None' for ${spec.type} services`);
  if (spec.type !== 'ExternalName') return;
  if ((spec.clusterIPs ?? []).length > 0)
    errors.forbidden('spec.clusterIPs', 'may not be set for ExternalName services');
  if ((spec.ipFamilies ?? []).length > 0)
    errors.forbidden('spec.ipFamilies', 'may not be set for ExternalName services');
  if (spec.ipFamilyPolicy !== undefined)
    errors.forbidden('spec.ipFamilyPolicy', 'may not be set for ExternalName services');
  const name = (spec.externalName ?? '').replace(/\.$/, '');
  if (name === '') errors.required('spec.externalName');
  else errors.invalidEach('spec.externalName', name, checkDnsSubdomain(name));
}

function validatePort(
  errors: FieldErrors,
  at: string,
  port: ServicePort,
  { needsName, names }: { readonly needsName: boolean; readonly names: Set<string> },
): void {
  if (!port.name) {
    if (needsName) errors.required(`${at}.name`);
  } else {
    errors.invalidEach(`${at}.name`, port.name, checkDnsLabel(port.name));
    if (names.has(port.name)) errors.duplicate(`${at}.name`, port.name);
    names.add(port.name);
  }
  errors.invalidEach(`${at}.port`, port.port, checkPortNumber(port.port));
  if (!port.protocol) errors.required(`${at}.protocol`);
  else errors.oneOf(`${at}.protocol`, port.protocol, ['SCTP', 'TCP', 'UDP']);
  const target = port.targetPort ?? port.port;
  errors.invalidEach(
    `${at}.targetPort`,
    target,
    typeof target === 'string' ? checkPortName(target) : checkPortNumber(target),
  );
  if (port.appProtocol !== undefined)
    errors.invalidEach(`${at}.appProtocol`, port.appProtocol, checkLabelKey(port.appProtocol));
}

function validateAffinity(
  errors: FieldErrors,
  affinity: string | undefined,
  config: SessionAffinityConfig | undefined,
): void {
  const field = 'spec.sessionAffinityConfig';
  if (!affinity) return errors.required('spec.sessionAffinity');
  errors.oneOf('spec.sessionAffinity', affinity, ['ClientIP', 'None']);
  if (affinity === 'None' && config !== undefined)
    errors.forbidden(field, 'must not be set when session affinity is None');
  const seconds = config?.clientIP?.timeoutSeconds;
  if (affinity === 'ClientIP' && seconds !== undefined && (seconds <= 0 || seconds > LONGEST_AFFINITY_SECONDS)) {
    errors.invalid(
      `${field}.clientIP.timeoutSeconds`,
      seconds,
      `must be greater than 0 and less than ${LONGEST_AFFINITY_SECONDS}`,
    );
  }
}

export function validateClusterIps(errors: FieldErrors, spec: ServiceSpec, known: ReadonlySet<string>): void {
  const { clusterIP = '', clusterIPs = [], ipFamilies = [], ipFamilyPolicy } = spec;
  const field = 'spec.clusterIPs';
  if (clusterIP !== '') {
    if (clusterIPs.length === 0) errors.required(field);
    else if (clusterIPs[0] !== clusterIP) errors.invalid(field, clusterIPs, 'first value must match `clusterIP`');
  } else if (clusterIPs.length > 0)
    errors.invalid(field, clusterIPs, 'must be empty when `clusterIP` is not specified');
  const seen = new Set<string>();
  for (const [index, family] of ipFamilies.entries()) {
    errors.oneOf(`spec.ipFamilies[${index}]`, family, ['IPv4', 'IPv6']);
    if (seen.has(family)) errors.duplicate(`spec.ipFamilies[${index}]`, family);
    seen.add(family);
  }
  if (ipFamilyPolicy !== undefined)
    errors.oneOf('spec.ipFamilyPolicy', ipFamilyPolicy, ['PreferDualStack', 'RequireDualStack', 'SingleStack']);
  const before = errors.list.length;
  if (clusterIPs[0] === 'None' && clusterIPs.length > 1)
    errors.invalid(field, clusterIPs, "'None' must be the first and only value");
  for (const [index, ip] of clusterIPs.entries())
    if (!known.has(ip) && (index > 0 || ip !== 'None')) errors.invalidEach(`${field}[${index}]`, ip, checkStrictIp(ip));
  const wrong = errors.list.length > before;
  if (clusterIPs.length > 2) errors.invalid(field, clusterIPs, 'may only hold up to 2 values');
  if (wrong || isHeadless(spec)) return;
  if (clusterIPs.length > 1 && new Set(clusterIPs.map(isIpv6Text)).size < 2)
    errors.invalid(field, clusterIPs, 'may specify no more than one IP for each IP family');
  for (const [index, ip] of clusterIPs.entries()) {
    const family = ipFamilies[index];
    if (family === 'IPv4' && isIpv6Text(ip))
      errors.invalid(`${field}[${index}]`, ip, `expected an IPv4 value as indicated by \`ipFamilies[${index}]\``);
    if (family === 'IPv6' && !isIpv6Text(ip))
      errors.invalid(`${field}[${index}]`, ip, `expected an IPv6 value as indicated by \`ipFamilies[${index}]\``);
  }
}

function validateExternalIp(errors: FieldErrors, field: string, ip: string, known: ReadonlySet<string>): void {
  const complaints = known.has(ip) ? [] : checkStrictIp(ip);
  errors.invalidEach(field, ip, complaints);
  if (complaints.length === 0) validateEndpointIp(errors, field, ip);
}

function validatePortUse(errors: FieldErrors, { type }: ServiceSpec, ports: readonly ServicePort[]): void {
  const nodePorts = new Set<string>();
  const used = new Set<string>();
  for (const [index, { nodePort = 0 }] of ports.entries())
    if (type === 'ClusterIP' && nodePort !== 0)
      errors.forbidden(`spec.ports[${index}].nodePort`, "may not be used when `type` is 'ClusterIP'");
  for (const [index, { nodePort = 0, protocol }] of ports.entries()) {
    if (nodePort === 0) continue;
    const key = `${protocol}/${nodePort}`;
    if (nodePorts.has(key)) errors.duplicate(`spec.ports[${index}].nodePort`, nodePort);
    nodePorts.add(key);
  }
  for (const [index, { port, protocol }] of ports.entries()) {
    const key = `${protocol}/${port}`;
    if (used.has(key)) errors.duplicate(`spec.ports[${index}]`, { protocol, port });
    used.add(key);
  }
}

const ONLY_BALANCED = "may only be used when `type` is 'LoadBalancer'";

/**
 * Validates the client ranges of a load balancer: the field, or without it the annotation that preceded it. Both may
 * have spaces around the ranges.
 */
function validateSourceRanges(errors: FieldErrors, { metadata, spec }: Service, old: Service | undefined): void {
  const ranges = spec.loadBalancerSourceRanges ?? [];
  const text = ranges.length > 0 ? undefined : metadata.annotations?.[SOURCE_RANGES_ANNOTATION];
  const field =
    text === undefined ? 'spec.LoadBalancerSourceRanges' : `metadata.annotations[${SOURCE_RANGES_ANNOTATION}]`;
  if ((ranges.length > 0 || text !== undefined) && spec.type !== 'LoadBalancer') errors.forbidden(field, ONLY_BALANCED);
  const known = new Set((old?.spec.loadBalancerSourceRanges ?? []).map((range) => range.trim()));
  for (const [index, range] of ranges.map((each) => each.trim()).entries())
    if (!known.has(range)) errors.invalidEach(`${field}[${index}]`, range, checkStrictCidr(range));
  if (text === undefined || text.trim() === '' || text === old?.metadata.annotations?.[SOURCE_RANGES_ANNOTATION])
    return;
  for (const range of text.split(',').map((each) => each.trim()))
    errors.invalidEach(field, range, checkStrictCidr(range));
}

function validateBalancer(errors: FieldErrors, spec: ServiceSpec): void {
  const balanced = spec.type === 'LoadBalancer';
  if (spec.allocateLoadBalancerNodePorts !== undefined && !balanced)
    errors.forbidden('spec.allocateLoadBalancerNodePorts', ONLY_BALANCED);
  if (spec.loadBalancerClass === undefined) return;
  if (balanced)
    errors.invalidEach('spec.loadBalancerClass', spec.loadBalancerClass, checkLabelKey(spec.loadBalancerClass));
  else errors.forbidden('spec.loadBalancerClass', ONLY_BALANCED);
}

function validatePolicies(errors: FieldErrors, service: Service): void {
  const { spec } = service;
  const { externalTrafficPolicy, healthCheckNodePort = 0, internalTrafficPolicy, trafficDistribution } = spec;
  if (isExternallyReachable(service)) {
    if (!externalTrafficPolicy) errors.required('spec.externalTrafficPolicy');
    else errors.oneOf('spec.externalTrafficPolicy', externalTrafficPolicy, ['Cluster', 'Local']);
  } else if (externalTrafficPolicy)
    errors.invalid(
      'spec.externalTrafficPolicy',
      externalTrafficPolicy,
      'may only be set for externally-accessible services',
    );
  const checked = spec.type === 'LoadBalancer' && externalTrafficPolicy === 'Local';
  if (!checked && healthCheckNodePort !== 0)
    errors.invalid(
      'spec.healthCheckNodePort',
      healthCheckNodePort,
      "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
    );
  if (checked && healthCheckNodePort !== 0)
    errors.invalidEach('spec.healthCheckNodePort', healthCheckNodePort, checkPortNumber(healthCheckNodePort));
  if (internalTrafficPolicy !== undefined)
    errors.oneOf('spec.internalTrafficPolicy', internalTrafficPolicy, ['Cluster', 'Local']);
  if (trafficDistribution !== undefined)
    errors.oneOf('spec.trafficDistribution', trafficDistribution, ['PreferClose', 'PreferSameZone', 'PreferSameNode']);
}
