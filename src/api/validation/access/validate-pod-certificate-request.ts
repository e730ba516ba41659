/** Rules of PodCertificateRequests (upstream: certificates/validation ValidatePodCertificateRequestCreate). */
import { Buffer } from 'node:buffer';
import { createPublicKey, verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { constants } from 'node:crypto';
import type { PodCertificateRequest, PodCertificateRequestSpec } from '../../certificates/pod-certificate-request.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateImmutable } from '../immutable.ts';
import { validateObjectMeta } from '../metadata.ts';
import { byteLength, checkDnsSubdomain } from '../names.ts';
import { validateSignerName } from './signer-name.ts';
import { isKubernetesSigner, validateUserAnnotations } from './user-annotations.ts';

const MOST_UID_BYTES = 128;
const MOST_KEY_BYTES = 10 * 1024;
const SHORTEST_SECONDS = 3600;
const LONGEST_SECONDS = 91 * 24 * 3600;
const LONGEST_KUBERNETES_SECONDS = 24 * 3600;

/**
 * Validates a new request. `createPodCertificateContents` checks that its stub is a PKCS #10 request that is signed
 * with its own key.
 */
export function validatePodCertificateRequest({ metadata, spec }: PodCertificateRequest): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', metadata);
  validateSignerName(errors, 'spec.signerName', spec.signerName);
  validateUserAnnotations(errors, 'spec.unverifiedUserAnnotations', spec.unverifiedUserAnnotations);
  for (const kind of ['pod', 'serviceAccount', 'node'] as const) {
    const [name, uid] = [spec[`${kind}Name`], spec[`${kind}UID`]];
    errors.invalidEach(`spec.${kind}Name`, name, checkDnsSubdomain(name));
    if (uid === '') errors.invalid(`spec.${kind}UID`, uid, 'must not be empty');
    if (byteLength(uid) > MOST_UID_BYTES) errors.tooLong(`spec.${kind}UID`, MOST_UID_BYTES);
  }
  if (validateLifetime(errors, spec)) validateKeys(errors, spec);
  return errors.list;
}

/** Only metadata can be changed. */
export function validatePodCertificateRequestUpdate(
  request: PodCertificateRequest,
  old: PodCertificateRequest,
): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', request.metadata);
  validateImmutable(errors, 'spec', request.spec, old.spec);
  return errors.list;
}

/** Whether a lifetime is given; like upstream, it checks nothing else without one. */
function validateLifetime(errors: FieldErrors, spec: PodCertificateRequestSpec): boolean {
  const field = 'spec.maxExpirationSeconds';
  const seconds = spec.maxExpirationSeconds;
  if (seconds === undefined) {
    errors.required(field, 'must be set');
    return false;
  }
  const longest = isKubernetesSigner(spec.signerName) ? LONGEST_KUBERNETES_SECONDS : LONGEST_SECONDS;
  if (seconds < SHORTEST_SECONDS || seconds > longest)
    errors.invalid(field, seconds, `must be in the range [${SHORTEST_SECONDS}, ${longest}]`);
  return true;
}

/** A request has either a stub or, deprecated, a key and its proof. */
function validateKeys(errors: FieldErrors, spec: PodCertificateRequestSpec): void {
  const { stubPKCS10Request: stub = '', pkixPublicKey: key = '', proofOfPossession: proof = '' } = spec;
  if (stub !== '' && key === '' && proof === '') {
    if (decoded(stub).length > MOST_KEY_BYTES) errors.tooLong('spec.stubPKCS10Request', MOST_KEY_BYTES);
  } else if (stub === '' && key !== '' && proof !== '')
    validateProof(errors, { key: decoded(key), proof: decoded(proof), text: key, podUid: spec.podUID });
  else
    errors.invalidHidden(
      'spec',
      'exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set',
    );
}

const decoded = (base64: string): Uint8Array => Buffer.from(base64, 'base64');

interface Proof {
  /** In PKIX format, as DER. */
  readonly key: Uint8Array;
  readonly proof: Uint8Array;
  readonly text: string;
  readonly podUid: string;
}

function validateProof(errors: FieldErrors, { key, proof, text, podUid }: Proof): void {
  const field = 'spec.pkixPublicKey';
  if (key.length > MOST_KEY_BYTES) return errors.tooLong(field, MOST_KEY_BYTES);
  if (proof.length > MOST_KEY_BYTES) return errors.tooLong('spec.proofOfPossession', MOST_KEY_BYTES);
  const publicKey = readPkixKey(key);
  if (publicKey === undefined) return errors.invalid(field, text, 'must be a valid PKIX-serialized public key');
  const problem = podKeyProblem(publicKey);
  if (problem !== undefined) return errors.invalid(field, problem.value, problem.why);
  if (!isSignedBy(publicKey, Buffer.from(podUid), proof))
    errors.invalidHidden('spec.proofOfPossession', 'could not verify proof-of-possession signature');
}

/** The public key of a request without a stub; undefined if it is invalid. */
export function readPkixKey(der: Uint8Array): KeyObject | undefined {
  try {
    return createPublicKey({ key: Buffer.from(der), format: 'der', type: 'spki' });
  } catch {
    return undefined;
  }
}

function isSignedBy(key: KeyObject, content: Uint8Array, signature: Uint8Array): boolean {
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return verify('sha256', content, { key, padding: constants.RSA_PKCS1_PSS_PADDING }, signature);
    case 'ec':
      return verify('sha256', content, key, signature);
    default:
      return verify(null, content, key, signature);
  }
}

const curves: readonly (string | undefined)[] = ['prime256v1', 'secp384r1', 'secp521r1'];
const moduli: readonly (number | undefined)[] = [3072, 4096];

/** The problem of a key for a pod's certificate; undefined if it is acceptable. */
export function podKeyProblem(key: KeyObject): { readonly value: string; readonly why: string } | undefined {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details = {} } = key;
  switch (type) {
    case 'ed25519':
      return undefined;
    case 'ec':
      return curves.includes(details.namedCurve)
        ? undefined
        : {
            value: `curve ${details.namedCurve ?? ''}`,
            why: 'elliptic public keys must use curve P256, P384, or P521',
          };
    case 'rsa':
      return moduli.includes(details.modulusLength)
        ? undefined
        : { value: `${details.modulusLength ?? 0}-bit modulus`, why: 'RSA keys must have modulus size 3072 or 4096' };
    default:
      return { value: type ?? '', why: 'unknown public key type; supported types are Ed25519, ECDSA, and RSA' };
  }
}
