import { createPublicKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { KubeletError } from '../../base/errors.ts';
import { noNames } from '../../pki/certificate-template.ts';
import { privateKeyPem, tryPrivateKey } from '../../pki/pem.ts';
import { readIfThere, writePublicFile, writeSecretFile } from '../../pki/pki-files.ts';

const AUTHORITY_YEARS = 10;
const YEAR_MS = 365 * 86_400_000;
/** The time by which certificates are backdated, for clocks that are slow. */
const BACKDATE_MS = 5 * 60_000;

export interface Authority {
  readonly certificatePem: string;
  readonly certificate: X509Certificate;
  /** The key; undefined if it is stored elsewhere, and then this process cannot sign. */
  readonly key: KeyObject | undefined;
}

/** The name of its files, and its common name. */
export interface AuthoritySpec {
  readonly file: string;
  readonly commonName: string;
}
const clusterAuthority: AuthoritySpec = { file: 'ca', commonName: 'kubernetes' };
/** The authority that signs only the certificates of authenticating proxies (kubeadm's names). */
export const frontProxyAuthority: AuthoritySpec = { file: 'front-proxy-ca', commonName: 'front-proxy-ca' };

/**
 * Reads an authority from `ca.crt` and `ca.key`. It is created only if neither file exists. Existing files are never
 * replaced, because all issued certificates depend on them. Rejects with `Invalid`, naming the file and what to do.
 */
export async function ensureAuthority(
  folder: string,
  nowMs: number,
  spec: AuthoritySpec = clusterAuthority,
): Promise<Authority> {
  const [certificateFile, keyFile] = [path.join(folder, `${spec.file}.crt`), path.join(folder, `${spec.file}.key`)];
  const [certificatePem, keyPem] = await Promise.all([readIfThere(certificateFile), readIfThere(keyFile)]);
  if (certificatePem === undefined) {
    if (keyPem === undefined) return createAuthority(certificateFile, keyFile, { ...spec, nowMs });
    const key = readKey(keyFile, keyPem);
    // The key is written first. If a start was killed right after that, the next one reuses the key, unless other files
    // were made from it.
    if (spec !== clusterAuthority || (await isAlone(folder, 'ca.key')))
      return writeAuthority(certificateFile, key, { ...spec, nowMs });
    throw broken(
      certificateFile,
      'is missing, but its key and other files of the cluster are there',
      'restore it from a backup; a new one would make all issued certificates worthless',
    );
  }
  const certificate = readCertificate(certificateFile, certificatePem, 'restore it from a backup');
  if (!certificate.ca)
    throw broken(
      certificateFile,
      'is not the certificate of an authority',
      'replace it with the certificate of the cluster’s authority',
    );
  if (nowMs >= certificate.validToDate.getTime())
    throw broken(
      certificateFile,
      `expired at ${certificate.validToDate.toISOString()}`,
      'replace the authority, or set the clock right',
    );
  if (keyPem === undefined) return { certificatePem, certificate, key: undefined };
  const key = readKey(keyFile, keyPem);
  if (!certificate.checkPrivateKey(key))
    throw broken(keyFile, `does not belong to ${certificateFile}`, 'restore the one of the two that was replaced');
  return { certificatePem, certificate, key };
}

interface AuthorityFacts extends AuthoritySpec {
  readonly nowMs: number;
}

async function createAuthority(certificateFile: string, keyFile: string, facts: AuthorityFacts): Promise<Authority> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await writeSecretFile(keyFile, privateKeyPem(privateKey));
  return writeAuthority(certificateFile, privateKey, facts);
}

async function writeAuthority(
  certificateFile: string,
  key: KeyObject,
  { commonName, nowMs }: AuthorityFacts,
): Promise<Authority> {
  const { writeCertificate } = await import('../../pki/x509-writer.ts');
  const certificatePem = writeCertificate(
    {
      subject: { commonName },
      publicKey: createPublicKey(key),
      notBeforeMs: nowMs - BACKDATE_MS,
      notAfterMs: nowMs + AUTHORITY_YEARS * YEAR_MS,
      isAuthority: true,
      keyUsages: ['digitalSignature', 'keyEncipherment', 'certSign'],
      extendedKeyUsages: [],
      altNames: { ...noNames, dnsNames: [commonName] },
    },
    { selfSignedBy: key },
  );
  await writePublicFile(certificateFile, certificatePem);
  return { certificatePem, certificate: new X509Certificate(certificatePem), key };
}

async function isAlone(folder: string, name: string): Promise<boolean> {
  return (await readdir(folder)).every((each) => each === name || each.endsWith('.tmp'));
}

export function broken(file: string, what: string, whatToDo: string): KubeletError {
  return new KubeletError('Invalid', `${file} ${what}; ${whatToDo}`, { op: 'load certificates' });
}

export function readCertificate(
  file: string,
  pem: string,
  whatToDo = 'restore it from a backup, or move it and its key away to have both created again',
): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw broken(
      file,
      `is not a readable certificate (${error instanceof Error ? error.message : String(error)})`,
      whatToDo,
    );
  }
}

export function readKey(file: string, pem: string): KeyObject {
  const key = tryPrivateKey(pem);
  if (key === undefined) throw broken(file, 'is not a readable private key', 'restore it from a backup');
  return key;
}
