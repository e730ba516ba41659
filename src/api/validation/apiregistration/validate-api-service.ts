import type { APIService } from '../../apiregistration/api-service.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { checkDns1035Label, checkDnsSubdomain, checkPortNumber } from '../names.ts';

const LARGEST_GROUP_PRIORITY = 20_000;
const LARGEST_VERSION_PRIORITY = 1000;

/** Validates an APIService (upstream: apiregistration ValidateAPIService). */
export function validateApiService({ metadata, spec }: APIService): FieldError[] {
  const errors = new FieldErrors();
  const { group = '', version = '', service, caBundle = '', insecureSkipTLSVerify } = spec;
  const name = `${version}.${group}`;
  if (metadata.name !== name)
    errors.invalid('metadata.name', metadata.name, `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(name)}`);
  if (group === '' && version !== 'v1')
    errors.required('spec.group', 'only v1 may have an empty group and it better be legacy kube');
  if (group !== '') errors.invalidEach('spec.group', group, checkDnsSubdomain(group));
  errors.invalidEach('spec.version', version, checkDns1035Label(version));
  const { groupPriorityMinimum, versionPriority } = spec;
  if (groupPriorityMinimum <= 0 || groupPriorityMinimum > LARGEST_GROUP_PRIORITY)
    errors.invalid('spec.groupPriorityMinimum', groupPriorityMinimum, 'must be positive and less than 20000');
  if (versionPriority <= 0 || versionPriority > LARGEST_VERSION_PRIORITY)
    errors.invalid('spec.versionPriority', versionPriority, 'must be positive and less than 1000');
  if (service === undefined) {
    if (caBundle !== '')
      errors.invalid(
        'spec.caBundle',
        `${Buffer.from(caBundle, 'base64').length} bytes`,
        'local APIServices may not have a caBundle',
      );
    if (insecureSkipTLSVerify === true)
      errors.invalid('spec.insecureSkipTLSVerify', true, 'local APIServices may not have insecureSkipTLSVerify');
    return errors.list;
  }
  if ((service.namespace ?? '') === '') errors.required('spec.service.namespace');
  if ((service.name ?? '') === '') errors.required('spec.service.name');
  const problems = checkPortNumber(service.port ?? 0);
  if (problems.length > 0)
    errors.invalid('spec.service.port', service.port ?? 0, `port is not valid: ${problems.join(', ')}`);
  if (insecureSkipTLSVerify === true && caBundle !== '')
    errors.invalid('spec.insecureSkipTLSVerify', true, 'may not be true if caBundle is present');
  return errors.list;
}

/** Validates an update of the status (upstream: ValidateAPIServiceStatusUpdate). */
export function validateApiServiceStatus({ status }: APIService): FieldError[] {
  const errors = new FieldErrors();
  for (const [index, condition] of (status?.conditions ?? []).entries())
    errors.oneOf(`status.conditions[${index}].status`, condition.status, ['True', 'False', 'Unknown']);
  return errors.list;
}
