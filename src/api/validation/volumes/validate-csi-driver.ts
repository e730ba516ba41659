import type { CSIDriver, CSIDriverSpec, TokenRequest } from '../../storage/csi-driver.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateObjectMeta } from '../metadata.ts';

const SHORTEST_TOKEN_SECONDS = 600;
const LONGEST_TOKEN_SECONDS = 2 ** 32;

/** Validates a new driver, after defaulting (upstream: storage/validation ValidateCSIDriver). */
export function validateCsiDriver({ metadata, spec }: CSIDriver): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', metadata, { clusterScoped: true });
  validateCsiDriverSpec(errors, spec);
  return errors.list;
}

export function validateCsiDriverSpec(errors: FieldErrors, spec: CSIDriverSpec): void {
  // The first name is upstream's slip.
  if (spec.attachRequired === undefined) errors.required('spec.attachedRequired');
  if (spec.podInfoOnMount === undefined) errors.required('spec.podInfoOnMount');
  if (spec.storageCapacity === undefined) errors.required('spec.storageCapacity');
  if (spec.fsGroupPolicy !== undefined)
    errors.oneOf('spec.fsGroupPolicy', spec.fsGroupPolicy, ['File', 'None', 'ReadWriteOnceWithFSType']);
  validateTokenRequests(errors, 'spec.tokenRequests', spec.tokenRequests ?? []);
  for (const mode of spec.volumeLifecycleModes ?? [])
    errors.oneOf('spec.volumeLifecycleModes', mode, ['Persistent', 'Ephemeral']);
  if (spec.seLinuxMount === undefined) errors.required('spec.seLinuxMount');
  const period = spec.nodeAllocatableUpdatePeriodSeconds;
  if (period !== undefined && period < 10)
    errors.invalid('spec.nodeAllocatableUpdatePeriodSeconds', period, 'must be greater than or equal to 10 seconds');
  if (spec.serviceAccountTokenInSecrets !== undefined && (spec.tokenRequests ?? []).length === 0) {
    errors.invalid(
      'spec.serviceAccountTokenInSecrets',
      spec.serviceAccountTokenInSecrets,
      'serviceAccountTokenInSecrets is set but no tokenRequests are specified',
    );
  }
}

function validateTokenRequests(errors: FieldErrors, path: string, requests: readonly TokenRequest[]): void {
  const audiences = new Set<string>();
  for (const [index, { audience, expirationSeconds }] of requests.entries()) {
    const at = `${path}[${index}]`;
    if (audiences.has(audience)) {
      errors.duplicate(`${at}.audience`, audience);
      continue;
    }
    audiences.add(audience);
    if (expirationSeconds === undefined) continue;
    if (expirationSeconds < SHORTEST_TOKEN_SECONDS)
      errors.invalid(`${at}.expirationSeconds`, expirationSeconds, 'may not specify a duration less than 10 minutes');
    if (expirationSeconds > LONGEST_TOKEN_SECONDS)
      errors.invalid(
        `${at}.expirationSeconds`,
        expirationSeconds,
        'may not specify a duration larger than 2^32 seconds',
      );
  }
}
