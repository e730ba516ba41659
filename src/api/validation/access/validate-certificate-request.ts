/** Rules of CertificateSigningRequests (upstream: certificates/validation). */
import { Buffer } from 'node:buffer';
import { X509Certificate } from 'node:crypto';
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from '../../certificates/certificate-signing-request.ts';
import { semanticEqual } from '../../semantic-equal.ts';
import { unifiedDiff } from '../../unified-diff.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateObjectMeta } from '../metadata.ts';
import { checkPathSegment } from '../names.ts';
import { validateSignerName } from './signer-name.ts';

const usages = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
];
/** The types of conditions that must be true and cannot be removed. */
const finalTypes = ['Approved', 'Denied', 'Failed'];
const SHORTEST_SECONDS = 600;
const LEGACY_SIGNER = 'kubernetes.io/legacy-unknown';
const BEGIN_MARK = '-----BEGIN CERTIFICATE REQUEST-----';
const END_MARK = '-----END CERTIFICATE REQUEST-----';
const CERTIFICATE_BEGIN = '-----BEGIN CERTIFICATE-----';
const CERTIFICATE_END = '-----END CERTIFICATE-----';
const MOST_CERTIFICATES = 100;
/** The longest request that can be read, in characters. */
const LONGEST_REQUEST = 65_536;

/**
 * Validates a new request. The signer checks that the request is signed by its own key, since that takes a reader of
 * certificates.
 */
export function validateCertificateRequest(request: CertificateSigningRequest): FieldError[] {
  return validate(request, undefined);
}

/** Faults that `old` already has are accepted (upstream: getValidationOptions). */
function validate(request: CertificateSigningRequest, old: CertificateSigningRequest | undefined): FieldError[] {
  const errors = new FieldErrors();
  const { metadata, spec, status } = request;
  validateObjectMeta(errors, 'metadata', metadata, { clusterScoped: true, checkName: checkPathSegment });
  const pem = Buffer.from(spec.request, 'base64').toString('latin1');
  const problem = pemProblem(pem);
  if (old === undefined && pem.length > LONGEST_REQUEST) errors.tooLong('spec.request', LONGEST_REQUEST);
  else if (problem !== undefined) errors.invalid('spec.request', spec.request, problem);
  const given = spec.usages ?? [];
  if (given.length === 0) errors.required('spec.usages');
  const before = old?.spec.usages ?? [];
  if (before.every((usage) => usages.includes(usage)))
    for (const [index, usage] of given.entries()) errors.oneOf(`spec.usages[${index}]`, usage, usages);
  if (!hasTwice(before))
    for (const index of indexesOfRepeated(given)) errors.duplicate(`spec.usages[${index}]`, given[index]);
  if (spec.signerName === LEGACY_SIGNER && old?.spec.signerName !== LEGACY_SIGNER)
    errors.invalid('spec.signerName', spec.signerName, 'the legacy signerName is not allowed via this API version');
  else validateSignerName(errors, 'spec.signerName', spec.signerName);
  if (spec.expirationSeconds !== undefined && spec.expirationSeconds < SHORTEST_SECONDS) {
    errors.invalid(
      'spec.expirationSeconds',
      spec.expirationSeconds,
      'may not specify a duration less than 600 seconds (10 minutes)',
    );
  }
  validateConditions(errors, status?.conditions ?? [], old?.status?.conditions ?? []);
  return errors.list;
}

function pemProblem(text: string): string | undefined {
  const begin = text.indexOf(BEGIN_MARK);
  const end = text.indexOf(END_MARK, begin);
  if (begin < 0 || end < 0 || text.indexOf('-----BEGIN ') < begin) return 'PEM block type must be CERTIFICATE REQUEST';
  const der = Buffer.from(text.slice(begin + BEGIN_MARK.length, end), 'base64');
  return isOneSequence(der) ? undefined : 'asn1: structure error: the certificate request cannot be read';
}

/** Whether the DER is one SEQUENCE without anything after it, as a PKCS 10 request must be. */
function isOneSequence(der: Uint8Array): boolean {
  const length = der[1] ?? 0;
  if (der[0] !== 0x30) return false;
  if (length < 0x80) return der.length === 2 + length;
  const bytes = length & 0x7f;
  if (bytes === 0 || bytes > 4) return false;
  return der.length === 2 + bytes + der.subarray(2, 2 + bytes).reduce((sum, byte) => sum * 256 + byte, 0);
}

const hasTwice = (values: readonly string[]): boolean => new Set(values).size < values.length;

/** The indexes of values that already occurred at a lower index. */
function indexesOfRepeated(values: readonly string[]): number[] {
  const seen = new Set<string>();
  return values.flatMap((value, index) => {
    if (seen.has(value)) return [index];
    seen.add(value);
    return [];
  });
}

function validateConditions(errors: FieldErrors, conditions: Conditions, old: Conditions): void {
  const field = 'status.conditions';
  const before = old.map(({ type }) => type);
  const wasBoth = before.includes('Approved') && before.includes('Denied');
  const seen = new Set<string>();
  for (const [index, { type, status }] of conditions.entries()) {
    const at = `${field}[${index}]`;
    // What decoding made of an absent status is empty, whatever its type says.
    const given: string = status;
    if (type === '' && !before.includes('')) errors.required(`${at}.type`);
    if (given === '') errors.required(`${at}.status`);
    else errors.oneOf(`${at}.status`, given, finalTypes.includes(type) ? ['True'] : ['False', 'True', 'Unknown']);
    if (!wasBoth && ((type === 'Approved' && seen.has('Denied')) || (type === 'Denied' && seen.has('Approved'))))
      errors.invalid(field, type, 'Approved and Denied conditions are mutually exclusive');
    seen.add(type);
  }
  if (!hasTwice(before))
    for (const index of indexesOfRepeated(conditions.map(({ type }) => type)))
      errors.duplicate(`${field}[${index}].type`, conditions[index]?.type);
}

/** The writer: a user, who may only change metadata; the approver; or the signer. */
export type CertificateRequestWriter = 'user' | 'approver' | 'signer';

export function validateCertificateRequestUpdate(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  writer: CertificateRequestWriter,
): FieldError[] {
  const errors = new FieldErrors();
  errors.list.push(...validate(request, old));
  for (const type of finalTypes)
    if (ofType(request, type).length < ofType(old, type).length)
      errors.forbidden('status.conditions', `updates may not remove a condition of type "${type}"`);
  if (writer !== 'approver')
    for (const type of ['Approved', 'Denied']) validateApproval(errors, type, ofType(request, type), ofType(old, type));
  const certificate = request.status?.certificate ?? '';
  const before = old.status?.certificate ?? '';
  if (certificate === before) return errors.list;
  if (writer !== 'signer') errors.forbidden('status.certificate', 'updates may not set certificate content');
  else if (before !== '') errors.forbidden('status.certificate', 'updates may not modify existing certificate content');
  else validateCertificate(errors, certificate);
  return errors.list;
}

type Conditions = readonly CertificateSigningRequestCondition[];

const ofType = ({ status }: CertificateSigningRequest, type: string): Conditions =>
  (status?.conditions ?? []).filter((condition) => condition.type === type);

function validateApproval(errors: FieldErrors, type: string, now: Conditions, before: Conditions): void {
  if (now.length > before.length)
    errors.forbidden('status.conditions', `updates may not add a condition of type "${type}"`);
  else if (now.length === before.length && !semanticEqual(now, before))
    errors.forbidden(
      'status.conditions',
      `updates may not modify a condition of type "${type}"\n${unifiedDiff(before, now)}`,
    );
}

function validateCertificate(errors: FieldErrors, base64: string): void {
  const problem = chainProblem(Buffer.from(base64, 'base64').toString('latin1'));
  if (problem !== undefined) errors.invalid('status.certificate', '<certificate data>', problem);
}

/** Checks that a text has only PEM certificates (upstream: validateCertificate). Text between the blocks is ignored. */
function chainProblem(text: string): string | undefined {
  const types = [...text.matchAll(/-----BEGIN ([^\n-]+)-----/g)].map(([, type]) => type ?? '');
  const other = types.find((type) => type !== 'CERTIFICATE');
  if (other !== undefined) return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(other)}`;
  if (types.length === 0) return 'must contain at least one CERTIFICATE PEM block';
  if (types.length > MOST_CERTIFICATES) return `must contain at most ${MOST_CERTIFICATES} CERTIFICATE PEM blocks`;
  for (const part of text.split(CERTIFICATE_BEGIN).slice(1)) {
    const end = part.indexOf(CERTIFICATE_END);
    const body = part.slice(0, Math.max(end, 0));
    if (body.includes(':')) return 'no PEM block headers are permitted';
    try {
      new X509Certificate(`${CERTIFICATE_BEGIN}${body}${CERTIFICATE_END}`);
    } catch {
      return 'x509: malformed certificate';
    }
  }
  return undefined;
}
