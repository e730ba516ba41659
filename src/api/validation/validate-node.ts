/** Rules of nodes (upstream: core/validation ValidateNode, ValidateNodeUpdate). */
import type { Node, Taint } from '../core/node.ts';
import { quantityMilliValue, quantitySign } from '../quantity.ts';
import { semanticEqual } from '../semantic-equal.ts';
import { FieldErrors } from './field-error.ts';
import type { FieldError } from './field-error.ts';
import { validateObjectMeta } from './metadata.ts';
import { checkLabelKey, checkLabelValue, checkStrictCidr, isIpv6Text } from './names.ts';

export function validateNode(node: Node): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', node.metadata, { clusterScoped: true });
  validateTaints(errors, node.spec?.taints ?? []);
  validateAmounts(errors, node);
  const ranges = node.spec?.podCIDRs ?? [];
  for (const [index, range] of ranges.entries())
    errors.invalidEach(`spec.podCIDRs[${index}]`, range, checkStrictCidr(range));
  if (ranges.length > 2 || (ranges.length === 2 && isIpv6Text(ranges[0] ?? '') === isIpv6Text(ranges[1] ?? '')))
    errors.invalid('spec.podCIDRs', ranges, 'may specify no more than one CIDR for each IP family');
  return errors.list;
}

/** Validates writes to the node and to its status. */
export function validateNodeUpdate(node: Node, old: Node): FieldError[] {
  const errors = new FieldErrors();
  const spec = node.spec ?? {};
  const before = old.spec ?? {};
  validateAmounts(errors, node);
  const seen = new Set<string>();
  for (const [index, address] of (node.status?.addresses ?? []).entries()) {
    const text = JSON.stringify([address.type, address.address]);
    if (seen.has(text)) errors.duplicate(`status.addresses[${index}]`, address);
    seen.add(text);
  }
  if ((before.podCIDRs ?? []).length > 0 && !semanticEqual(spec.podCIDRs, before.podCIDRs))
    errors.forbidden('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid');
  if (before.providerID && before.providerID !== spec.providerID)
    errors.forbidden('spec.providerID', 'node updates may not change providerID except from "" to valid');
  validateTaints(errors, spec.taints ?? []);
  if ((spec.externalID ?? '') !== (before.externalID ?? '')) errors.forbidden('spec.externalID', 'may not be updated');
  return errors.list;
}

/** Upstream reports taints below the metadata by mistake. */
function validateTaints(errors: FieldErrors, taints: readonly Taint[]): void {
  const seen = new Set<string>();
  for (const [index, taint] of taints.entries()) {
    const at = `metadata.taints[${index}]`;
    errors.invalidEach(`${at}.key`, taint.key, checkLabelKey(taint.key));
    const complaints = checkLabelValue(taint.value ?? '');
    if (complaints.length > 0) errors.invalid(`${at}.value`, taint.value, complaints.join(';'));
    // What decoding made of an absent effect is empty, whatever its type says.
    const effect: string = taint.effect;
    if (effect === '') errors.required(`${at}.effect`);
    else errors.oneOf(`${at}.effect`, effect, ['NoSchedule', 'PreferNoSchedule', 'NoExecute']);
    const key = `${taint.key}:${effect}`;
    if (seen.has(key)) {
      errors.duplicate(at, taint);
      const last = errors.list.pop();
      if (last !== undefined)
        errors.list.push({ ...last, message: `${last.message}: taints must be unique by key and effect pair` });
    }
    seen.add(key);
  }
}

const wholeNumbers =
  /^(pods|services|replicationcontrollers|resourcequotas|secrets|configmaps|persistentvolumeclaims|services\.nodeports|services\.loadbalancers)$/;

function validateAmounts(errors: FieldErrors, { status }: Node): void {
  for (const list of ['capacity', 'allocatable'] as const) {
    for (const [name, amount] of Object.entries(status?.[list] ?? {})) {
      const field = `status.${list}.${name}`;
      if (quantitySign(amount) < 0) errors.invalid(field, amount, 'must be greater than or equal to 0');
      const isWhole = wholeNumbers.test(name) || (name.includes('/') && !name.includes('kubernetes.io/'));
      if (isWhole && quantityMilliValue(amount) % 1000 !== 0) errors.invalid(field, amount, 'must be an integer');
    }
  }
}
