import type { IPAddress, ParentReference } from '../../networking/ip-address.ts';
import type { ServiceCIDR, ServiceCIDRSpec } from '../../networking/service-cidr.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { IMMUTABLE_MESSAGE, validateImmutable } from '../immutable.ts';
import { checkDnsSubdomain, checkPathSegment, isIpv6Text } from '../names.ts';
import { checkCanonicalCidr } from './canonical-address.ts';

const PATH = 'spec.cidrs';

/** Validates a ServiceCIDR, except its metadata (upstream: networking/validation ValidateServiceCIDR). */
export function validateServiceCidr({ spec }: ServiceCIDR): FieldError[] {
  const errors = new FieldErrors();
  validateSpec(errors, spec);
  return errors.list;
}

/** A range cannot be changed; a range of the other family may be added (upstream: ValidateServiceCIDRUpdate). */
export function validateServiceCidrUpdate({ spec }: ServiceCIDR, old: ServiceCIDR): FieldError[] {
  const errors = new FieldErrors();
  const [now, before] = [spec.cidrs ?? [], old.spec.cidrs ?? []];
  const grows = before.length === 1 && now.length === 2;
  if (now.length !== before.length && !grows) errors.invalid(PATH, now, IMMUTABLE_MESSAGE);
  else
    for (const [index, cidr] of before.entries())
      if (cidr !== now[index]) errors.invalid(`${PATH}[${index}]`, now[index], IMMUTABLE_MESSAGE);
  if (grows) validateSpec(errors, spec);
  return errors.list;
}

function validateSpec(errors: FieldErrors, spec: ServiceCIDRSpec): void {
  const { cidrs = [] } = spec;
  if (cidrs.length === 0) return errors.required(PATH, 'at least one CIDR required');
  if (cidrs.length > 2) return errors.invalid(PATH, { CIDRs: cidrs }, 'may only hold up to 2 values');
  for (const [index, cidr] of cidrs.entries()) errors.invalidEach(`${PATH}[${index}]`, cidr, checkCanonicalCidr(cidr));
  const [one = '', other] = cidrs;
  const areRanges = cidrs.every((cidr) => checkCanonicalCidr(cidr).length === 0);
  if (other !== undefined && areRanges && isIpv6Text(one) === isIpv6Text(other))
    errors.invalid(
      PATH,
      cidrs,
      'may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
    );
}

/** Validates an IPAddress, except its metadata (upstream: networking/validation ValidateIPAddress). */
export function validateIpAddress({ spec: { parentRef } }: IPAddress): FieldError[] {
  const errors = new FieldErrors();
  if (parentRef === undefined) errors.required('spec.parentRef');
  else validateParent(errors, parentRef);
  return errors.list;
}

export function validateIpAddressUpdate({ spec }: IPAddress, old: IPAddress): FieldError[] {
  const errors = new FieldErrors();
  validateImmutable(errors, 'spec.parentRef', spec.parentRef ?? null, old.spec.parentRef ?? null);
  return errors.list;
}

function validateParent(
  errors: FieldErrors,
  { group = '', resource = '', namespace = '', name = '' }: ParentReference,
): void {
  const at = (field: string): string => `spec.parentRef.${field}`;
  if (group !== '') errors.invalidEach(at('group'), group, checkDnsSubdomain(group));
  for (const [field, value] of [
    ['resource', resource],
    ['name', name],
  ] as const)
    if (value === '') errors.required(at(field));
    else errors.invalidEach(at(field), value, checkPathSegment(value));
  if (namespace !== '') errors.invalidEach(at('namespace'), namespace, checkPathSegment(namespace));
}
