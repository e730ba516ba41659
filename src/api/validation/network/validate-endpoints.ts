import type { EndpointAddress, EndpointPort, EndpointSubset, Endpoints } from '../../core/endpoints.ts';
import { semanticEqual } from '../../semantic-equal.ts';
import { validateEndpointIp } from './endpoint-ip.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { checkDnsLabel, checkDnsSubdomain, checkLabelKey, checkPortNumber, checkStrictIp } from '../names.ts';

/**
 * Defaulted endpoints without their metadata (upstream: core/validation ValidateEndpoints). Subsets that do not change
 * are not checked again.
 */
export function validateEndpoints({ subsets = [] }: Endpoints, old?: Endpoints): FieldError[] {
  const errors = new FieldErrors();
  if (old !== undefined && semanticEqual(old.subsets, subsets)) return errors.list;
  for (const [index, subset] of subsets.entries()) validateSubset(errors, `subsets[${index}]`, subset);
  return errors.list;
}

function validateSubset(
  errors: FieldErrors,
  path: string,
  { addresses = [], notReadyAddresses = [], ports = [] }: EndpointSubset,
): void {
  if (addresses.length + notReadyAddresses.length === 0)
    errors.required(path, 'must specify `addresses` or `notReadyAddresses`');
  for (const [index, address] of addresses.entries()) validateAddress(errors, `${path}.addresses[${index}]`, address);
  for (const [index, address] of notReadyAddresses.entries())
    validateAddress(errors, `${path}.notReadyAddresses[${index}]`, address);
  for (const [index, port] of ports.entries()) validatePort(errors, `${path}.ports[${index}]`, port, ports.length > 1);
}

function validateAddress(errors: FieldErrors, path: string, { ip, hostname, nodeName }: EndpointAddress): void {
  errors.invalidEach(`${path}.ip`, ip, checkStrictIp(ip));
  if (hostname) errors.invalidEach(`${path}.hostname`, hostname, checkDnsLabel(hostname));
  if (nodeName !== undefined) errors.invalidEach(`${path}.nodeName`, nodeName, checkDnsSubdomain(nodeName));
  validateEndpointIp(errors, `${path}.ip`, ip);
}

function validatePort(
  errors: FieldErrors,
  path: string,
  { name = '', port, protocol, appProtocol }: EndpointPort,
  needsName: boolean,
): void {
  if (name !== '') errors.invalidEach(`${path}.name`, name, checkDnsLabel(name));
  else if (needsName) errors.required(`${path}.name`);
  errors.invalidEach(`${path}.port`, port, checkPortNumber(port));
  if (!protocol) errors.required(`${path}.protocol`);
  else errors.oneOf(`${path}.protocol`, protocol, ['SCTP', 'TCP', 'UDP']);
  if (appProtocol !== undefined) errors.invalidEach(`${path}.appProtocol`, appProtocol, checkLabelKey(appProtocol));
}
