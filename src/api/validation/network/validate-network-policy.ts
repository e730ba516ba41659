import { formatIp, parseSloppyIp } from '../../../base/ip-address.ts';
import type { IPBlock, NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '../../networking/network-policy.ts';
import { goQuote } from '../../go-quote.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { isInvalidSelector, validateLabelSelector } from '../metadata.ts';
import { checkPortName, checkPortNumber, checkStrictCidr } from '../names.ts';

/** Faults of the stored object that an update may keep. */
interface Tolerance {
  /** Any label value is allowed in selectors. */
  readonly anyValue: boolean;
  readonly knownCidrs: ReadonlySet<string>;
}

/** Validates a NetworkPolicy, except its metadata (upstream: networking/validation ValidateNetworkPolicy). */
export function validateNetworkPolicy(policy: NetworkPolicy): FieldError[] {
  return validate(policy, { anyValue: false, knownCidrs: new Set() });
}

export function validateNetworkPolicyUpdate(policy: NetworkPolicy, old: NetworkPolicy): FieldError[] {
  return validate(policy, {
    anyValue: isInvalidSelector(old.spec.podSelector),
    knownCidrs: new Set(blocksOf(old).flatMap(({ block: { cidr, except = [] } }) => [cidr, ...except])),
  });
}

/** Warnings for accepted ranges that can be read in several ways (upstream: GetWarningsForCIDR). */
export function networkPolicyWarnings(policy: NetworkPolicy): string[] {
  return blocksOf(policy).flatMap(({ path, block: { cidr, except = [] } }) => [
    ...cidrWarnings(`${path}.cidr`, cidr),
    ...except.flatMap((each, index) => cidrWarnings(`${path}.except[${index}]`, each)),
  ]);
}

/** All peers with their paths, in the order in which they are validated. */
function peersOf({ spec }: NetworkPolicy): { readonly path: string; readonly peer: NetworkPolicyPeer }[] {
  return [
    ...(spec.ingress ?? []).flatMap(({ from = [] }, rule) =>
      from.map((peer, index) => ({ path: `spec.ingress[${rule}].from[${index}]`, peer })),
    ),
    ...(spec.egress ?? []).flatMap(({ to = [] }, rule) =>
      to.map((peer, index) => ({ path: `spec.egress[${rule}].to[${index}]`, peer })),
    ),
  ];
}

function blocksOf(policy: NetworkPolicy): { readonly path: string; readonly block: IPBlock }[] {
  return peersOf(policy).flatMap(({ path, peer: { ipBlock } }) =>
    ipBlock === undefined ? [] : [{ path: `${path}.ipBlock`, block: ipBlock }],
  );
}

function validate({ spec }: NetworkPolicy, tolerance: Tolerance): FieldError[] {
  const errors = new FieldErrors();
  validateLabelSelector(errors, 'spec.podSelector', spec.podSelector, { anyValue: tolerance.anyValue });
  const rules = [
    ...(spec.ingress ?? []).map(({ ports, from }, index) => ({ path: `spec.ingress[${index}]`, ports, from })),
    ...(spec.egress ?? []).map(({ ports, to }, index) => ({ path: `spec.egress[${index}]`, ports, to })),
  ];
  for (const { path, ports = [], ...peers } of rules) {
    for (const [index, port] of ports.entries()) validatePort(errors, `${path}.ports[${index}]`, port);
    for (const [word, list = []] of Object.entries(peers))
      for (const [index, peer] of list.entries()) validatePeer(errors, `${path}.${word}[${index}]`, peer, tolerance);
  }
  const { policyTypes = [] } = spec;
  if (policyTypes.length > 2)
    errors.invalid('spec.policyTypes', policyTypes, 'may not specify more than two policyTypes');
  else
    for (const [index, type] of policyTypes.entries())
      errors.oneOf(`spec.policyTypes[${index}]`, type, ['Ingress', 'Egress']);
  return errors.list;
}

function validatePort(errors: FieldErrors, path: string, { protocol, port, endPort }: NetworkPolicyPort): void {
  if (protocol !== undefined) errors.oneOf(`${path}.protocol`, protocol, ['TCP', 'UDP', 'SCTP']);
  if (port === undefined) {
    if (endPort !== undefined)
      errors.invalid(`${path}.endPort`, endPort, 'may not be specified when `port` is not specified');
    return;
  }
  if (typeof port === 'string') {
    if (endPort !== undefined)
      errors.invalid(`${path}.endPort`, endPort, 'may not be specified when `port` is non-numeric');
    return errors.invalidEach(`${path}.port`, port, checkPortName(port));
  }
  errors.invalidEach(`${path}.port`, port, checkPortNumber(port));
  if (endPort === undefined) return;
  // Upstream shows the port here.
  if (endPort < port) errors.invalid(`${path}.endPort`, port, 'must be greater than or equal to `port`');
  errors.invalidEach(`${path}.endPort`, endPort, checkPortNumber(endPort));
}

function validatePeer(errors: FieldErrors, path: string, peer: NetworkPolicyPeer, tolerance: Tolerance): void {
  const { podSelector, namespaceSelector, ipBlock } = peer;
  const { anyValue } = tolerance;
  if (podSelector !== undefined) validateLabelSelector(errors, `${path}.podSelector`, podSelector, { anyValue });
  if (namespaceSelector !== undefined)
    validateLabelSelector(errors, `${path}.namespaceSelector`, namespaceSelector, { anyValue });
  if (ipBlock !== undefined) validateBlock(errors, `${path}.ipBlock`, ipBlock, tolerance);
  const others = [podSelector, namespaceSelector].filter((selector) => selector !== undefined).length;
  if (others === 0 && ipBlock === undefined) errors.required(path, 'must specify a peer');
  else if (others > 0 && ipBlock !== undefined) errors.forbidden(path, 'may not specify both ipBlock and another peer');
}

function validateBlock(
  errors: FieldErrors,
  path: string,
  { cidr, except = [] }: IPBlock,
  { knownCidrs }: Tolerance,
): void {
  if (cidr === '') return errors.required(`${path}.cidr`);
  if (!knownCidrs.has(cidr)) errors.invalidEach(`${path}.cidr`, cidr, checkStrictCidr(cidr));
  const range = parseRange(cidr);
  if (range === undefined) return;
  for (const [index, each] of except.entries()) {
    const field = `${path}.except[${index}]`;
    if (!knownCidrs.has(each)) errors.invalidEach(field, each, checkStrictCidr(each));
    const part = parseRange(each);
    if (part !== undefined && !isStrictSubset(part, range))
      errors.invalid(field, each, 'must be a strict subset of `cidr`');
  }
}

interface Range {
  readonly address: Uint8Array;
  readonly network: Uint8Array;
  readonly prefix: number;
}

/** Parses a range like upstream's lenient parser. */
function parseRange(cidr: string): Range | undefined {
  const [text = '', bits = '', ...rest] = cidr.split('/');
  const address = parseSloppyIp(text);
  if (address === undefined || rest.length > 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > 8 * address.length)
    return undefined;
  return { address, network: masked(address, Number(bits)), prefix: Number(bits) };
}

const masked = (address: Uint8Array, prefix: number): Uint8Array =>
  address.map((byte, index) => byte & (0xff00 >> Math.min(8, Math.max(0, prefix - 8 * index))));

function isStrictSubset(part: Range, whole: Range): boolean {
  return (
    part.network.length === whole.network.length &&
    part.prefix > whole.prefix &&
    masked(part.network, whole.prefix).every((byte, index) => byte === whole.network[index])
  );
}

function cidrWarnings(field: string, cidr: string): string[] {
  const range = parseRange(cidr);
  if (range === undefined) return [];
  const network = `${formatIp(range.network)}/${range.prefix}`;
  const warnings: string[] = [];
  if (range.address.some((byte, index) => byte !== range.network[index])) {
    const single = `${formatIp(range.address)}/${8 * range.address.length}`;
    warnings.push(
      `${field}: CIDR value ${goQuote(cidr)} is ambiguous in this context (should be ${goQuote(network)} or ${goQuote(single)}?)`,
    );
  }
  const isOdd = checkStrictCidr(cidr).some(
    (complaint) => complaint.includes('leading') || complaint.includes('mapped'),
  );
  if (isOdd) warnings.push(`${field}: non-standard CIDR value ${goQuote(cidr)} is invalid: use ${goQuote(network)}`);
  if (warnings.length === 0 && cidr.includes(':') && network !== cidr)
    warnings.push(
      `${field}: IPv6 CIDR value ${goQuote(cidr)} should be in RFC 5952 canonical format (${goQuote(network)})`,
    );
  return warnings;
}
