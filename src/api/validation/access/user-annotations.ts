/** Checks that podCertificate volumes and PodCertificateRequests share. */
import type { FieldErrors } from '../field-error.ts';
import { validateAnnotationSize } from '../metadata.ts';
import { checkLabelKey } from '../names.ts';

/** Keys need a domain; values may be any text (upstream: core/validation ValidateUserAnnotations). */
export function validateUserAnnotations(
  errors: FieldErrors,
  path: string,
  annotations: Readonly<Record<string, string>> | undefined,
): void {
  for (const key of Object.keys(annotations ?? {})) {
    const lower = key.toLowerCase();
    const complaints = checkLabelKey(lower);
    errors.invalidEach(path, lower, complaints);
    if (complaints.length === 0 && !key.includes('/'))
      errors.invalid(path, lower, 'must be a domain-prefixed key (such as "acme.io/foo")');
  }
  validateAnnotationSize(errors, path, annotations);
}

/**
 * Whether the signer is one of the Kubernetes project, which issue certificates for a day at most (upstream:
 * IsKubernetesSignerName).
 */
export function isKubernetesSigner(signerName: string): boolean {
  const [host = ''] = signerName.split('/');
  return host === 'kubernetes.io' || host.endsWith('.kubernetes.io');
}
