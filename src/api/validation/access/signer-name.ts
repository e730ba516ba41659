import type { FieldErrors } from '../field-error.ts';
import { byteLength, checkDnsLabel, checkDnsSubdomain } from '../names.ts';

const MAX_DOMAIN = 253;
/** A domain, a slash, and a namespace and a name separated by a dot. */
const MAX_LENGTH = MAX_DOMAIN + 1 + 63 + 1 + 253;

/** `example.com/signer` (upstream: core/validation ValidateSignerName). */
export function validateSignerName(errors: FieldErrors, field: string, name: string): void {
  if (name === '') return errors.required(field);
  const [domain = '', rest, ...more] = name.split('/');
  if (rest === undefined || more.length > 0)
    return errors.invalid(
      field,
      name,
      "must be a fully qualified domain and path of the form 'example.com/signer-name'",
    );
  if (byteLength(domain) > MAX_DOMAIN) errors.tooLong(field, MAX_DOMAIN);
  const labels = domain.split('.');
  firstWrong(errors, field, domain, { parts: labels, check: checkDnsLabel });
  if (labels.length < 2)
    errors.invalid(field, domain, 'should be a domain with at least two segments separated by dots');
  firstWrong(errors, field, rest, { parts: rest.split('.'), check: (part) => checkDnsSubdomain(part) });
  if (byteLength(name) > MAX_LENGTH) errors.tooLong(field, MAX_LENGTH);
}

function firstWrong(
  errors: FieldErrors,
  field: string,
  whole: string,
  { parts, check }: { parts: readonly string[]; check: (part: string) => readonly string[] },
): void {
  const wrong = parts.find((part) => check(part).length > 0);
  if (wrong !== undefined)
    for (const complaint of check(wrong))
      errors.invalid(field, whole, `validating label ${JSON.stringify(wrong)}: ${complaint}`);
}
