/** Rules of ClusterTrustBundles (upstream: certificates/validation ValidateClusterTrustBundle). */
import { X509Certificate } from 'node:crypto';
import { Buffer } from 'node:buffer';
import { readPemBlocks } from '../../../base/pem-blocks.ts';
import type { PemBlock } from '../../../base/pem-blocks.ts';
import type { ClusterTrustBundle } from '../../certificates/cluster-trust-bundle.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateImmutable } from '../immutable.ts';
import { validateObjectMeta } from '../metadata.ts';
import { byteLength, checkDnsSubdomain } from '../names.ts';
import type { Complaints } from '../names.ts';
import { validateSignerName } from './signer-name.ts';

const MOST_BYTES = 1024 * 1024;

export function validateClusterTrustBundle(bundle: ClusterTrustBundle): FieldError[] {
  const errors = new FieldErrors();
  validateAllBut(errors, bundle);
  validateCertificates(errors, bundle.spec.trustBundle);
  return errors.list;
}

/** Existing certificates are not parsed again, because parsers become stricter with time. */
export function validateClusterTrustBundleUpdate(bundle: ClusterTrustBundle, old: ClusterTrustBundle): FieldError[] {
  const errors = new FieldErrors();
  validateAllBut(errors, bundle);
  if (bundle.spec.trustBundle !== old.spec.trustBundle) validateCertificates(errors, bundle.spec.trustBundle);
  validateImmutable(errors, 'spec.signerName', bundle.spec.signerName, old.spec.signerName);
  return errors.list;
}

function validateAllBut(errors: FieldErrors, { metadata, spec: { signerName = '' } }: ClusterTrustBundle): void {
  validateObjectMeta(errors, 'metadata', metadata, {
    clusterScoped: true,
    checkName: (name) => checkClusterTrustBundleName(name, signerName),
  });
  if (signerName !== '') validateSignerName(errors, 'spec.signerName', signerName);
}

/**
 * The name must begin with the signer's name with colons for slashes; without a signer it must not contain a colon
 * (upstream: ValidateClusterTrustBundleName).
 */
function checkClusterTrustBundleName(name: string, signerName: string): Complaints {
  if (signerName === '')
    return name.includes(':')
      ? ['ClusterTrustBundle without signer name must not have ":" in its name']
      : checkDnsSubdomain(name);
  const prefix = `${signerName.replaceAll('/', ':')}:`;
  return name.startsWith(prefix)
    ? checkDnsSubdomain(name.slice(prefix.length))
    : [`ClusterTrustBundle for signerName ${signerName} must be named with prefix ${prefix}`];
}

function validateCertificates(errors: FieldErrors, text: string): void {
  const path = 'spec.trustBundle';
  if (byteLength(text) > MOST_BYTES) return errors.tooLong(path, MOST_BYTES);
  const refuse = (why: string): void => errors.invalid(path, '<value omitted>', why);
  const places = new Map<string, number[]>();
  let isWhole = true;
  for (const [index, block] of readPemBlocks(text).entries()) {
    const problem = blockProblem(block);
    if (problem !== undefined) {
      refuse(`entry ${index} ${problem}`);
      isWhole = false;
      continue;
    }
    const key = Buffer.from(block.der).toString('base64');
    const known = places.get(key);
    if (known === undefined) places.set(key, [index]);
    else known.push(index);
  }
  // Errors that follow from a malformed block are not reported in addition to it.
  if (!isWhole) return;
  if (places.size === 0) refuse('at least one trust anchor must be provided');
  for (const indexes of places.values())
    if (indexes.length > 1) refuse(`duplicate trust anchor (indices [${indexes.join(' ')}])`);
}

function blockProblem({ type, hasHeaders, der }: PemBlock): string | undefined {
  if (type !== 'CERTIFICATE') return `has bad block type: ${type}`;
  if (hasHeaders) return 'has PEM block headers';
  const certificate = tryCertificate(der);
  if (certificate === undefined) return 'does not parse as X.509';
  return certificate.ca ? undefined : 'does not have the CA bit set';
}

function tryCertificate(der: Uint8Array): X509Certificate | undefined {
  try {
    return new X509Certificate(der);
  } catch {
    return undefined;
  }
}
