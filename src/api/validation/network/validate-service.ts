import type { Service, ServicePort, ServiceSpec, SessionAffinityConfig } from '../../core/service.ts';
import { isExternallyReachable } from '../../defaults/default-service.ts';
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

const longestAffinitySeconds = 86_400;
const hintsAnnotation = 'service.kubernetes.io/topology-aware-hints';
const modeAnnotation = 'service.kubernetes.io/topology-mode';

const isHeadless = ({ clusterIPs, clusterIP }: ServiceSpec): boolean =>
  (clusterIPs?.length === 1 && clusterIPs[0] === 'None') || clusterIP === 'None';

/**
 * What the API server would answer to the creation of this service, after defaulting (upstream: ValidateServiceCreate). Not asked for are the
 * addresses and ports which it would give out itself.
 */
export function validateService(service: Service): FieldError[] {
  const errors = new FieldErrors();
  const { metadata, spec } = service;
  validateObjectMeta(errors, 'metadata', metadata, { checkName: checkDnsLabel });
  const { [modeAnnotation]: mode, [hintsAnnotation]: hints } = metadata.annotations ?? {};
  if (mode !== undefined && hints !== undefined && mode !== hints)
    errors.invalid(
      `metadata.annotations[${modeAnnotation}]`,
      mode,
      `must match annotations[${hintsAnnotation}] when both are specified`,
    );
  const ports = spec.ports ?? [];
  if (ports.length === 0 && !isHeadless(spec) && spec.type !== 'ExternalName') errors.required('spec.ports');
  validateType(errors, spec);
  const names = new Set<string>();
  for (const [index, port] of ports.entries())
    validatePort(errors, `spec.ports[${index}]`, port, { needsName: ports.length > 1, names });
  validateLabels(errors, 'spec.selector', spec.selector);
  validateAffinity(errors, spec.sessionAffinity, spec.sessionAffinityConfig);
  if (spec.type !== 'ExternalName') validateClusterIps(errors, spec);
  for (const [index, ip] of (spec.externalIPs ?? []).entries())
    validateExternalIp(errors, `spec.externalIPs[${index}]`, ip);
  errors.oneOf('spec.type', spec.type ?? '', ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']);
  validatePortUse(errors, spec, ports);
  validateBalancer(errors, spec);
  validatePolicies(errors, service);
  return errors.list;
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
  if (affinity === 'ClientIP' && seconds !== undefined && (seconds <= 0 || seconds > longestAffinitySeconds)) {
    errors.invalid(
      `${field}.clientIP.timeoutSeconds`,
      seconds,
      `must be greater than 0 and less than ${longestAffinitySeconds}`,
    );
  }
}

function validateClusterIps(errors: FieldErrors, spec: ServiceSpec): void {
  const { clusterIP = '', clusterIPs = [], ipFamilies = [], ipFamilyPolicy } = spec;
  const field = 'spec.clusterIPs';
  if (clusterIP !== '') {
    if (clusterIPs.length === 0) errors.required(field);
    else if (clusterIPs[0] !== clusterIP) errors.invalid(field, clusterIPs, 'first value must match `clusterIP`');
  } else if (clusterIPs.length > 0)
    errors.invalid(field, clusterIPs, 'must be empty when `clusterIP` is not specified');
  for (const [index, family] of ipFamilies.entries()) {
    errors.oneOf(`spec.ipFamilies[${index}]`, family, ['IPv4', 'IPv6']);
    if (ipFamilies.indexOf(family) < index) errors.duplicate(`spec.ipFamilies[${index}]`, family);
  }
  if (ipFamilyPolicy !== undefined)
    errors.oneOf('spec.ipFamilyPolicy', ipFamilyPolicy, ['PreferDualStack', 'RequireDualStack', 'SingleStack']);
  const before = errors.list.length;
  if (clusterIPs[0] === 'None' && clusterIPs.length > 1)
    errors.invalid(field, clusterIPs, "'None' must be the first and only value");
  for (const [index, ip] of clusterIPs.entries())
    if (index > 0 || ip !== 'None') errors.invalidEach(`${field}[${index}]`, ip, checkStrictIp(ip));
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

function validateExternalIp(errors: FieldErrors, field: string, ip: string): void {
  const complaints = checkStrictIp(ip);
  errors.invalidEach(field, ip, complaints);
  if (complaints.length > 0) return;
  if (ip === '0.0.0.0' || /^[0:]+$/.test(ip)) errors.invalid(field, ip, `may not be unspecified (${ip})`);
  if (ip.startsWith('127.') || /^[0:]*:0*1$/.test(ip))
    errors.invalid(field, ip, 'may not be in the loopback range (127.0.0.0/8, ::1/128)');
  if (ip.startsWith('169.254.') || /^fe[89ab]/i.test(ip))
    errors.invalid(field, ip, 'may not be in the link-local range (169.254.0.0/16, fe80::/10)');
  if (ip.startsWith('224.0.0.') || /^ff.2:/i.test(ip))
    errors.invalid(field, ip, 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)');
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

function validateBalancer(errors: FieldErrors, spec: ServiceSpec): void {
  const balanced = spec.type === 'LoadBalancer';
  const only = "may only be used when `type` is 'LoadBalancer'";
  const ranges = spec.loadBalancerSourceRanges ?? [];
  if (ranges.length > 0 && !balanced) errors.forbidden('spec.LoadBalancerSourceRanges', only);
  for (const [index, range] of ranges.entries())
    errors.invalidEach(`spec.LoadBalancerSourceRanges[${index}]`, range.trim(), checkStrictCidr(range.trim()));
  if (spec.allocateLoadBalancerNodePorts !== undefined && !balanced)
    errors.forbidden('spec.allocateLoadBalancerNodePorts', only);
  if (spec.loadBalancerClass === undefined) return;
  if (balanced)
    errors.invalidEach('spec.loadBalancerClass', spec.loadBalancerClass, checkLabelKey(spec.loadBalancerClass));
  else errors.forbidden('spec.loadBalancerClass', only);
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
