import type { FieldErrors } from './field-error.ts';
import { checkDnsSubdomain } from './names.ts';

/** `example.com/controller` (upstream: IsDomainPrefixedPath). */
export function validateDomainPath(errors: FieldErrors, field: string, value: string): void {
  if (value === '') return errors.required(field);
  const slash = value.indexOf('/');
  const [host, path] = [value.slice(0, Math.max(slash, 0)), value.slice(slash + 1)];
  if (host === '' || path === '')
    return errors.invalid(field, value, 'must be a domain-prefixed path (such as "acme.io/foo")');
  errors.invalidEach(field, host, checkDnsSubdomain(host));
  if (!/^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(path))
    errors.invalid(field, path, "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')");
}
