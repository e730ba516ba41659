/** Rules of the status of PodCertificateRequests (upstream: ValidatePodCertificateRequestStatusUpdate). */
import { X509Certificate } from 'node:crypto';
import { readPemBlocks } from '../../../base/pem-blocks.ts';
import type { PodCertificateRequest, PodCertificateRequestStatus } from '../../certificates/pod-certificate-request.ts';
import { semanticEqual } from '../../semantic-equal.ts';
import { validateConditions } from '../conditions.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { byteLength } from '../names.ts';

export const podCertificateVerdicts = ['Issued', 'Denied', 'Failed'] as const;
const MOST_CHAIN_BYTES = 100 * 1024;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const CHAIN = 'status.certificateChain';

/**
 * Validates the status that a signer writes. `createPodCertificateContents` checks that the certificate is for the
 * requested key and is valid now.
 */
export function validatePodCertificateStatus(request: PodCertificateRequest, old: PodCertificateRequest): FieldError[] {
  const errors = new FieldErrors();
  const [status, before] = [request.status ?? {}, old.status ?? {}];
  validateVerdicts(errors, status);
  validateConditions(errors, 'status.conditions', status.conditions ?? []);
  if (errors.list.length > 0) return errors.list;
  if (verdictOf(before) !== undefined) {
    if (!semanticEqual(status, before))
      errors.invalidHidden('status', 'immutable after PodCertificateRequest is issued, denied, or failed');
    return errors.list;
  }
  switch (verdictOf(status)) {
    case 'Issued':
      validateIssued(errors, status, old.spec.maxExpirationSeconds ?? 0);
      break;
    case 'Denied':
    case 'Failed':
      if (!semanticEqual(status, { conditions: status.conditions }))
        errors.invalidHidden(
          'status',
          'non-condition status fields must be empty when denying or failing the PodCertificateRequest',
        );
      break;
    default:
      if (!semanticEqual(status, before))
        errors.invalidHidden('status', 'status is immutable unless transitioning to "Issued", "Denied", or "Failed"');
  }
  return errors.list;
}

/** The condition with the signer's decision; undefined if there is none. */
export function verdictOf({
  conditions = [],
}: PodCertificateRequestStatus): (typeof podCertificateVerdicts)[number] | undefined {
  return podCertificateVerdicts.find((verdict) =>
    conditions.some(({ type, status }) => type === verdict && status === 'True'),
  );
}

/** There may be at most one, and it must be true. */
function validateVerdicts(errors: FieldErrors, { conditions = [] }: PodCertificateRequestStatus): void {
  let known = 0;
  for (const [index, { type, status }] of conditions.entries()) {
    const at = `status.conditions[${index}]`;
    if (!podCertificateVerdicts.some((verdict) => verdict === type)) {
      errors.notSupported(`${at}.type`, type, podCertificateVerdicts);
      continue;
    }
    if (++known > 1)
      errors.invalid(
        `${at}.type`,
        type,
        'There may be at most one condition with type "Issued", "Denied", or "Failed"',
      );
    errors.oneOf(`${at}.status`, status, ['True']);
  }
}

function validateIssued(errors: FieldErrors, status: PodCertificateRequestStatus, longestSeconds: number): void {
  const chain = status.certificateChain ?? '';
  if (byteLength(chain) > MOST_CHAIN_BYTES) return errors.tooLong(CHAIN, MOST_CHAIN_BYTES);
  const [leaf, ...others] = readPemBlocks(chain);
  const refuse = (why: string): void => errors.invalid(CHAIN, chain, why);
  if (leaf === undefined) return refuse('issued certificate chain must contain at least one certificate');
  if (leaf.type !== 'CERTIFICATE')
    return refuse('issued certificate chain must consist entirely of CERTIFICATE PEM blocks');
  const certificate = tryCertificate(leaf.der);
  if (certificate === undefined) return refuse('leaf certificate does not parse as valid X.509');
  if (!validateTimes(errors, status, { certificate, longestSeconds })) return;
  for (const { type, der } of others) {
    if (type !== 'CERTIFICATE')
      return refuse('issued certificate chain must consist entirely of CERTFICATE PEM blocks');
    if (tryCertificate(der) === undefined) return refuse('intermediate certificate does not parse as valid X.509');
  }
}

/** Whether the times are valid; only the first error is reported. */
function validateTimes(
  errors: FieldErrors,
  { notBefore, notAfter, beginRefreshAt }: PodCertificateRequestStatus,
  { certificate, longestSeconds }: { readonly certificate: X509Certificate; readonly longestSeconds: number },
): boolean {
  const consistent = 'must be present and consistent with the issued certificate';
  if (notBefore === undefined) errors.required('status.notBefore', consistent);
  if (notAfter === undefined) errors.required('status.notAfter', consistent);
  if (beginRefreshAt === undefined)
    errors.required('status.beginRefreshAt', 'must be present and in the range [notbefore+10min, notafter-10min]');
  if (notBefore === undefined || notAfter === undefined || beginRefreshAt === undefined) return false;
  const fromMs = certificate.validFromDate.getTime();
  const toMs = certificate.validToDate.getTime();
  const refreshMs = Date.parse(beginRefreshAt);
  const problem = [
    Date.parse(notBefore) !== fromMs && {
      field: 'status.notBefore',
      value: notBefore,
      why: 'must be set to the NotBefore time encoded in the leaf certificate',
    },
    Date.parse(notAfter) !== toMs && {
      field: 'status.notAfter',
      value: notAfter,
      why: 'must be set to the NotAfter time encoded in the leaf certificate',
    },
    toMs - fromMs < HOUR_MS && {
      field: CHAIN,
      value: toMs - fromMs,
      why: 'leaf certificate lifetime must be >= 1 hour',
    },
    toMs - fromMs > longestSeconds * 1000 && {
      field: CHAIN,
      value: toMs - fromMs,
      why: `leaf certificate lifetime must be <= spec.maxExpirationSeconds (${longestSeconds})`,
    },
    refreshMs < fromMs + 10 * MINUTE_MS && {
      field: 'status.beginRefreshAt',
      value: beginRefreshAt,
      why: 'must be at least 10 minutes after status.notBefore',
    },
    refreshMs > toMs - 10 * MINUTE_MS && {
      field: 'status.beginRefreshAt',
      value: beginRefreshAt,
      why: 'must be at least 10 minutes before status.notAfter',
    },
  ].find((each) => each !== false);
  if (problem !== undefined) errors.invalid(problem.field, problem.value, problem.why);
  return problem === undefined;
}

function tryCertificate(der: Uint8Array): X509Certificate | undefined {
  try {
    return new X509Certificate(der);
  } catch {
    return undefined;
  }
}
