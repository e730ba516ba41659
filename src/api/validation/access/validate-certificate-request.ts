/** Rules of CertificateSigningRequests (upstream: certificates/validation). */
import { Buffer } from 'node:buffer';
import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from '../../certificates/certificate-signing-request.ts';
import { semanticEqual } from '../../semantic-equal.ts';
import { unifiedDiff } from '../../unified-diff.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateObjectMeta } from '../metadata.ts';
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
/** Conditions that can only be true, and that never go away. */
const finalTypes = ['Approved', 'Denied', 'Failed'];
const shortestSeconds = 600;
const beginMark = '-----BEGIN CERTIFICATE REQUEST-----';
const endMark = '-----END CERTIFICATE REQUEST-----';

/** Of a new request. Whether it is signed by the key it is for takes a reader of certificates, and is asked by whoever signs. */
export function validateCertificateRequest(request: CertificateSigningRequest): FieldError[] {
  const errors = new FieldErrors();
  const { metadata, spec, status } = request;
  validateObjectMeta(errors, 'metadata', metadata, { clusterScoped: true, checkName: () => [] });
  const problem = pemProblem(spec.request);
  if (problem !== undefined) errors.invalid('spec.request', spec.request, problem);
  const given = spec.usages ?? [];
  if (given.length === 0) errors.required('spec.usages');
  for (const [index, usage] of given.entries()) errors.oneOf(`spec.usages[${index}]`, usage, usages);
  const seen = new Set<string>();
  for (const [index, usage] of given.entries()) {
    if (seen.has(usage)) errors.duplicate(`spec.usages[${index}]`, usage);
    seen.add(usage);
  }
  if (spec.signerName === 'kubernetes.io/legacy-unknown')
    errors.invalid('spec.signerName', spec.signerName, 'the legacy signerName is not allowed via this API version');
  else validateSignerName(errors, 'spec.signerName', spec.signerName);
  if (spec.expirationSeconds !== undefined && spec.expirationSeconds < shortestSeconds) {
    errors.invalid(
      'spec.expirationSeconds',
      spec.expirationSeconds,
      'may not specify a duration less than 600 seconds (10 minutes)',
    );
  }
  validateConditions(errors, status?.conditions ?? []);
  return errors.list;
}

function pemProblem(base64: string): string | undefined {
  const text = Buffer.from(base64, 'base64').toString('latin1');
  const begin = text.indexOf(beginMark);
  const end = text.indexOf(endMark, begin);
  if (begin < 0 || end < 0 || text.indexOf('-----BEGIN ') < begin) return 'PEM block type must be CERTIFICATE REQUEST';
  const der = Buffer.from(text.slice(begin + beginMark.length, end), 'base64');
  return isOneSequence(der) ? undefined : 'asn1: structure error: the certificate request cannot be read';
}

/** DER of one SEQUENCE and nothing behind it, which a PKCS 10 request is. */
function isOneSequence(der: Uint8Array): boolean {
  const length = der[1] ?? 0;
  if (der[0] !== 0x30) return false;
  if (length < 0x80) return der.length === 2 + length;
  const bytes = length & 0x7f;
  if (bytes === 0 || bytes > 4) return false;
  return der.length === 2 + bytes + der.subarray(2, 2 + bytes).reduce((sum, byte) => sum * 256 + byte, 0);
}

function validateConditions(errors: FieldErrors, conditions: readonly CertificateSigningRequestCondition[]): void {
  const field = 'status.conditions';
  const seen = new Set<string>();
  for (const [index, { type, status }] of conditions.entries()) {
    const at = `${field}[${index}]`;
    // What decoding made of an absent status is empty, whatever its type says.
    const given: string = status;
    if (type === '') errors.required(`${at}.type`);
    if (given === '') errors.required(`${at}.status`);
    else errors.oneOf(`${at}.status`, given, finalTypes.includes(type) ? ['True'] : ['False', 'True', 'Unknown']);
    if ((type === 'Approved' && seen.has('Denied')) || (type === 'Denied' && seen.has('Approved')))
      errors.invalid(field, type, 'Approved and Denied conditions are mutually exclusive');
    if (seen.has(type)) errors.duplicate(`${at}.type`, type);
    seen.add(type);
  }
}

/** Who writes: users, who may change metadata only; the approver; the signer. */
export type CertificateRequestWriter = 'user' | 'approver' | 'signer';

export function validateCertificateRequestUpdate(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  writer: CertificateRequestWriter,
): FieldError[] {
  const errors = new FieldErrors();
  errors.list.push(...validateCertificateRequest(request));
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
  const text = Buffer.from(base64, 'base64').toString('latin1');
  const types = [...text.matchAll(/-----BEGIN ([^\n-]+)-----/g)].map(([, type]) => type ?? '');
  const other = types.find((type) => type !== 'CERTIFICATE');
  if (other !== undefined)
    errors.invalid(
      'status.certificate',
      '<certificate data>',
      `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(other)}`,
    );
  else if (types.length === 0)
    errors.invalid('status.certificate', '<certificate data>', 'must contain at least one CERTIFICATE PEM block');
}
