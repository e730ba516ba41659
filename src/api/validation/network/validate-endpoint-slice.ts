import type { Endpoint, EndpointHints, EndpointPort, EndpointSlice } from '../../discovery/endpoint-slice.ts';
import { semanticEqual } from '../../semantic-equal.ts';
import { canonicalIpv6, validateEndpointIp } from './endpoint-ip.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateImmutable } from '../immutable.ts';
import { validateLabels } from '../metadata.ts';
import {
  checkDnsLabel,
  checkDnsSubdomain,
  checkLabelKey,
  checkLabelValue,
  checkStrictIp,
  isIpv6Text,
} from '../names.ts';

const MAX_ENDPOINTS = 1000;
const MAX_PORTS = 20_000;
const MAX_ADDRESSES = 100;
const MAX_TOPOLOGY_LABELS = 16;
const MAX_HINTS = 8;

/**
 * Validates a defaulted slice, except its metadata (upstream: discovery/validation ValidateEndpointSlice). Endpoints
 * that do not change are not checked again.
 */
export function validateEndpointSlice(slice: EndpointSlice, old?: EndpointSlice): FieldError[] {
  const errors = new FieldErrors();
  // What is not written is empty, and what is written need not be one of the values.
  const addressType: string = slice.addressType;
  if (addressType === '') errors.required('addressType');
  else errors.oneOf('addressType', addressType, ['FQDN', 'IPv4', 'IPv6']);
  validatePorts(errors, slice.ports);
  if (old === undefined || !semanticEqual(old.endpoints, slice.endpoints)) validateEndpoints(errors, slice);
  return errors.list;
}

export function validateEndpointSliceUpdate(slice: EndpointSlice, old: EndpointSlice): FieldError[] {
  const errors = new FieldErrors();
  errors.list.push(...validateEndpointSlice(slice, old));
  validateImmutable(errors, 'addressType', slice.addressType, old.addressType);
  return errors.list;
}

function validatePorts(errors: FieldErrors, ports: readonly EndpointPort[]): void {
  if (ports.length > MAX_PORTS) return errors.tooMany('ports', ports.length, MAX_PORTS);
  const names = new Set<string>();
  for (const [index, { name = '', protocol, appProtocol }] of ports.entries()) {
    const at = `ports[${index}]`;
    if (name !== '') errors.invalidEach(`${at}.name`, name, checkDnsLabel(name));
    if (names.has(name)) errors.duplicate(`${at}.name`, name);
    names.add(name);
    if (protocol === undefined) errors.required(`${at}.protocol`);
    else errors.oneOf(`${at}.protocol`, protocol, ['SCTP', 'TCP', 'UDP']);
    if (appProtocol !== undefined) errors.invalidEach(`${at}.appProtocol`, appProtocol, checkLabelKey(appProtocol));
  }
}

function validateEndpoints(errors: FieldErrors, { endpoints, addressType }: EndpointSlice): void {
  if (endpoints.length > MAX_ENDPOINTS) return errors.tooMany('endpoints', endpoints.length, MAX_ENDPOINTS);
  for (const [index, endpoint] of endpoints.entries())
    validateEndpoint(errors, `endpoints[${index}]`, endpoint, addressType);
}

function validateEndpoint(errors: FieldErrors, path: string, endpoint: Endpoint, addressType: string): void {
  const { addresses, nodeName, deprecatedTopology = {}, hostname, hints } = endpoint;
  const field = `${path}.addresses`;
  if (addresses.length === 0) errors.required(field, 'must contain at least 1 address');
  else if (addresses.length > MAX_ADDRESSES) errors.tooMany(field, addresses.length, MAX_ADDRESSES);
  for (const [index, address] of addresses.entries())
    validateAddress(errors, `${field}[${index}]`, address, { addressType, list: field });
  if (nodeName !== undefined) errors.invalidEach(`${path}.nodeName`, nodeName, checkDnsSubdomain(nodeName));
  const labels = Object.keys(deprecatedTopology).length;
  if (labels > MAX_TOPOLOGY_LABELS) errors.tooMany(`${path}.deprecatedTopology`, labels, MAX_TOPOLOGY_LABELS);
  validateLabels(errors, `${path}.deprecatedTopology`, deprecatedTopology);
  if (hostname !== undefined) errors.invalidEach(`${path}.hostname`, hostname, checkDnsLabel(hostname));
  if (hints !== undefined) validateHints(errors, `${path}.hints`, hints);
}

function validateAddress(
  errors: FieldErrors,
  field: string,
  address: string,
  { addressType, list }: { readonly addressType: string; readonly list: string },
): void {
  if (addressType === 'FQDN') return validateDomain(errors, field, address);
  if (addressType !== 'IPv4' && addressType !== 'IPv6') return;
  const complaints = checkStrictIp(address);
  const canonical = canonicalIpv6(address);
  if (complaints.length > 0) return errors.invalidEach(field, address, complaints);
  if (addressType === 'IPv6' && canonical !== undefined && canonical !== address)
    return errors.invalid(field, address, `must be in canonical form (${JSON.stringify(canonical)})`);
  if (isIpv6Text(address) !== (addressType === 'IPv6'))
    errors.invalid(list, address, `must be an ${addressType} address`);
  validateEndpointIp(errors, field, address);
}

/** Upstream: IsFullyQualifiedDomainName. */
function validateDomain(errors: FieldErrors, field: string, text: string): void {
  if (text === '') return errors.required(field);
  const name = text.replace(/\.$/, '');
  const complaints = checkDnsSubdomain(name);
  if (complaints.length > 0) return errors.invalid(field, name, complaints.join(','));
  const labels = name.split('.');
  if (labels.length < 2)
    return errors.invalid(field, name, 'should be a domain with at least two segments separated by dots');
  const wrong = labels.find((label) => checkDnsLabel(label).length > 0);
  if (wrong !== undefined) errors.invalid(field, wrong, checkDnsLabel(wrong).join(','));
}

function validateHints(errors: FieldErrors, path: string, { forZones = [], forNodes = [] }: EndpointHints): void {
  const kinds = [
    ['forZones', forZones, checkLabelValue],
    ['forNodes', forNodes, checkDnsSubdomain],
  ] as const;
  for (const [kind, hints, check] of kinds) {
    const field = `${path}.${kind}`;
    if (hints.length > MAX_HINTS) return errors.tooMany(field, hints.length, MAX_HINTS);
    const names = new Set<string>();
    for (const [index, { name }] of hints.entries()) {
      if (names.has(name)) errors.duplicate(`${field}[${index}].name`, name);
      names.add(name);
      errors.invalidEach(`${field}[${index}].name`, name, check(name));
    }
  }
}
