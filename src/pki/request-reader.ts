/** Reads certificate requests (PKCS 10). No other code does this. */
import { verify } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { errorMessage, KubeletError } from '../base/errors.ts';
import { altNamesOf, readExtensions } from './alternative-names.ts';
import type { AltNames } from './certificate-template.ts';
import { derError, DerFields, derTags, readBits, readObjectId, readOnly } from './der-reader.ts';
import type { DerElement } from './der-reader.ts';
import { onlyPemBlock } from './pem.ts';
import { readRequestedKey } from './requested-key.ts';
import { readRequestedSubject, valuesOf } from './subject.ts';
import type { SubjectAttribute } from './subject.ts';

export interface CertificateRequest extends AltNames {
  /** The whole subject, in the order of the request. */
  readonly attributes: readonly SubjectAttribute[];
  /** '' if there is none. */
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** The public key, whose private key signed the request. */
  readonly publicKey: KeyObject;
}

/** The longest request in characters of PEM: enough for hundreds of names. */
const LONGEST_REQUEST = 65_536;
const EXTENSION_REQUEST_ID = '1.2.840.113549.1.9.14';
const ATTRIBUTES_TAG = 0xa0;

interface SignatureAlgorithm {
  readonly digest: string | null;
  readonly keyType: 'rsa' | 'ec' | 'ed25519';
}

/** By object identifier. SHA-1 and older algorithms are not accepted. */
const algorithms: ReadonlyMap<string, SignatureAlgorithm> = new Map([
  ['1.2.840.113549.1.1.11', { digest: 'sha256', keyType: 'rsa' }],
  ['1.2.840.113549.1.1.12', { digest: 'sha384', keyType: 'rsa' }],
  ['1.2.840.113549.1.1.13', { digest: 'sha512', keyType: 'rsa' }],
  ['1.2.840.10045.4.3.2', { digest: 'sha256', keyType: 'ec' }],
  ['1.2.840.10045.4.3.3', { digest: 'sha384', keyType: 'ec' }],
  ['1.2.840.10045.4.3.4', { digest: 'sha512', keyType: 'ec' }],
  ['1.3.101.112', { digest: null, keyType: 'ed25519' }],
]);

/**
 * Reads a request in PEM. Throws `Invalid` for a malformed request, for a subject or names that no certificate can
 * contain, and for a request that is not signed by its own key.
 */
export function readCertificateRequest(pem: string): CertificateRequest {
  return reading(() => {
    const { subject, attributes, publicKey } = readSigned(pem);
    const requested = readRequestedSubject(subject);
    const extensions = requestedExtensions(attributes);
    return {
      attributes: requested,
      commonName: valuesOf(requested, 'commonName')[0] ?? '',
      organizations: valuesOf(requested, 'organization'),
      publicKey,
      ...altNamesOf(extensions, 'request'),
    };
  });
}

/** Like `readCertificateRequest`, but returns the error as a text. The error is permanent. */
export function tryCertificateRequest(pem: string): CertificateRequest | string {
  try {
    return readCertificateRequest(pem);
  } catch (error) {
    return errorMessage(error);
  }
}

/**
 * Throws `Invalid` for a malformed request and for one that is not signed by its own key. Subject and extensions are
 * left to the external signer.
 */
export function checkRequestSignature(pem: string): void {
  reading(() => readSigned(pem));
}

/** The public key of a request in DER. Throws `Invalid` if the request is malformed or not signed by that key. */
export function readRequestKey(der: Uint8Array): KeyObject {
  return reading(() => readSignedDer(der).publicKey);
}

function reading<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new KubeletError('Invalid', `the certificate request cannot be read: ${errorMessage(error)}`, {
      cause: error,
    });
  }
}

interface SignedRequest {
  readonly subject: DerElement;
  readonly attributes: DerElement;
  readonly publicKey: KeyObject;
}

function readSigned(pem: string): SignedRequest {
  if (pem.length > LONGEST_REQUEST) throw derError(`the request is longer than ${LONGEST_REQUEST} bytes`);
  return readSignedDer(onlyPemBlock(pem, 'CERTIFICATE REQUEST'));
}

function readSignedDer(der: Uint8Array): SignedRequest {
  const request = new DerFields(readOnly(der, derTags.sequence, 'the request').content);
  const signed = request.take(derTags.sequence, 'the signed part');
  const algorithm = readAlgorithm(request.take(derTags.sequence, 'the algorithm of the signature'));
  const signature = readBits(request.take(derTags.bitString, 'the signature'), 'the signature');
  request.end('the request');
  const info = new DerFields(signed.content);
  const version = info.take(derTags.integer, 'the version').content;
  if (version.length !== 1 || version[0] !== 0) throw derError('the version of the request is not 0');
  const subject = info.take(derTags.sequence, 'the subject');
  const publicKey = readRequestedKey(info.take(derTags.sequence, 'the public key'));
  const attributes = info.take(ATTRIBUTES_TAG, 'the attributes');
  info.end('the signed part');
  const isSigned =
    algorithm.keyType === publicKey.asymmetricKeyType && verify(algorithm.digest, signed.bytes, publicKey, signature);
  if (!isSigned) throw derError('the signature is not by the key of the request');
  return { subject, attributes, publicKey };
}

/** The parameters must be NULL for RSA, and absent for all others. */
function readAlgorithm({ content }: DerElement): SignatureAlgorithm {
  const fields = new DerFields(content);
  const id = readObjectId(fields.take(derTags.objectId, 'the algorithm of the signature'));
  const algorithm = algorithms.get(id);
  if (algorithm === undefined) throw derError(`the algorithm ${id} of the signature is not supported`);
  if (algorithm.keyType === 'rsa' && fields.take(derTags.null, 'the parameters of the signature').content.length > 0)
    throw derError('the parameters of the signature are not NULL');
  fields.end('the algorithm of the signature');
  return algorithm;
}

/** The requested extensions. Duplicate attributes are rejected. */
function requestedExtensions(attributes: DerElement): ReadonlyMap<string, Uint8Array> {
  const found = new Map<string, DerElement>();
  for (const { content } of new DerFields(attributes.content).all(derTags.sequence, 'an attribute of the request')) {
    const fields = new DerFields(content);
    const id = readObjectId(fields.take(derTags.objectId, 'the type of an attribute'));
    const values = fields.take(derTags.set, 'the values of an attribute');
    fields.end('an attribute of the request');
    if (found.has(id)) throw derError(`the attribute ${id} of the request occurs twice`);
    found.set(id, values);
  }
  const requested = found.get(EXTENSION_REQUEST_ID);
  return requested === undefined
    ? new Map()
    : readExtensions(readOnly(requested.content, derTags.sequence, 'the requested extensions'));
}
