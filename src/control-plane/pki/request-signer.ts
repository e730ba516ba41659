import { createPrivateKey, X509Certificate } from 'node:crypto';
import { KubeletError } from '../../base/errors.ts';
import { tryCertificateRequest } from '../../pki/request-reader.ts';
import { inCertificateOrder } from '../../pki/subject.ts';
import { isSignerName, issuedNames, refuseRequest, requestValidity, usagesOf } from './request-policy.ts';
import type { SignerName } from './request-policy.ts';

const YEAR_MS = 365 * 86_400_000;

export interface SigningRequest {
  readonly signerName: string;
  /** PEM. */
  readonly request: string;
  readonly usages: readonly string[];
  readonly expirationSeconds?: number;
}

export type SigningOutcome =
  /** PEM. */
  | { readonly kind: 'signed'; readonly certificate: string }
  /** The message for the condition Failed, with reason SignerValidationFailure. */
  | { readonly kind: 'refused'; readonly message: string }
  /** The signer belongs to another program. */
  | { readonly kind: 'ignored' };

export interface RequestSignerOptions {
  /** Returns the authority in PEM. It is called for each request, so that a replaced authority is used immediately. */
  readonly authority: () => { readonly certificate: string; readonly key: string };
  readonly nowMs: () => number;
  /** The longest validity of a certificate; default: a year (--cluster-signing-duration). */
  readonly longestMs?: number;
}

/**
 * Creates the signer of approved CertificateSigningRequests. It checks all rules again in spite of the approval,
 * because admission may not have checked the request. It rejects if it cannot sign now (the authority is invalid), and
 * the caller may retry.
 */
export function createRequestSigner(
  options: RequestSignerOptions,
): (request: SigningRequest) => Promise<SigningOutcome> {
  return async (asked) => {
    const { signerName } = asked;
    if (!isSignerName(signerName)) return { kind: 'ignored' };
    return signRequest(options, asked, signerName);
  };
}

async function signRequest(
  options: RequestSignerOptions,
  asked: SigningRequest,
  signerName: SignerName,
): Promise<SigningOutcome> {
  const { writeCertificate } = await import('../../pki/x509-writer.ts');
  const request = tryCertificateRequest(asked.request);
  if (typeof request === 'string') return { kind: 'refused', message: request };
  const refusal = refuseRequest(signerName, request, asked.usages);
  if (refusal !== undefined) return { kind: 'refused', message: refusal };
  const { keyUsages, extendedKeyUsages, unknown } = usagesOf(asked.usages);
  if (unknown !== undefined)
    return { kind: 'refused', message: `unrecognized usage values: [${JSON.stringify(unknown)}]` };
  const { certificate, key } = options.authority();
  const authorityNotAfterMs = new X509Certificate(certificate).validToDate.getTime();
  const validity = requestValidity({
    expirationSeconds: asked.expirationSeconds,
    longestMs: options.longestMs ?? YEAR_MS,
    authorityNotAfterMs,
    nowMs: options.nowMs(),
  });
  if ('expired' in validity) throw new KubeletError('Unavailable', validity.expired);
  const { attributes, publicKey } = request;
  const template = {
    subject: { attributes: inCertificateOrder(attributes) },
    publicKey,
    ...validity,
    keyUsages,
    extendedKeyUsages,
    altNames: issuedNames(signerName, request),
  };
  return { kind: 'signed', certificate: writeCertificate(template, { certificate, key: createPrivateKey(key) }) };
}
