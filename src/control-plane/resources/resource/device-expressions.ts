import type { DeviceSelector } from '../../../api/resource/device-config.ts';
import type { DeviceClaim } from '../../../api/resource/resource-claim.ts';
import type { FieldError } from '../../../api/validation/field-error.ts';
import { FieldErrors } from '../../../api/validation/field-error.ts';
import { checkDeviceExpression } from '../../cel/device-selectors.ts';

const LONGEST_EXPRESSION = 10 * 1024;

type Place = readonly [path: string, selectors: readonly DeviceSelector[] | undefined];

/** Returns the selectors of a claim with their paths. */
export function selectorsOfClaim(path: string, devices: DeviceClaim): readonly Place[] {
  return (devices.requests ?? []).flatMap(({ exactly, firstAvailable = [] }, index): readonly Place[] => {
    const at = `${path}.requests[${index}]`;
    return [
      [`${at}.exactly.selectors`, exactly?.selectors],
      ...firstAvailable.map(({ selectors }, way): Place => [`${at}.firstAvailable[${way}].selectors`, selectors]),
    ];
  });
}

/** Returns the errors of selector expressions. Stored expressions (`before`) are not checked again. */
export function checkDeviceSelectors(places: readonly Place[], before: readonly Place[] = []): FieldError[] {
  const stored = new Set(before.flatMap(([, selectors = []]) => selectors.map(({ cel }) => cel?.expression)));
  const errors = new FieldErrors();
  for (const [path, selectors = []] of places)
    for (const [index, { cel }] of selectors.entries()) {
      const expression = cel?.expression ?? '';
      // Expressions that are too long were refused before.
      if (expression === '' || expression.length > LONGEST_EXPRESSION || stored.has(expression)) continue;
      const fault = checkDeviceExpression(expression);
      const field = `${path}[${index}].cel.expression`;
      if (fault === 'too-complex') errors.forbidden(field, 'too complex, exceeds cost limit');
      else if (fault !== undefined) errors.invalid(field, expression, fault.fault);
    }
  return errors.list;
}
