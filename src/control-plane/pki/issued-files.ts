import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import path from 'node:path';
import type { Logger } from '../../base/log.ts';
import { broken, readCertificate, readKey } from './authority-files.ts';
import type { Authority } from './authority-files.ts';
import { extendedUsages, noNames } from '../../pki/certificate-template.ts';
import { judgeCertificate } from '../../pki/judge-certificate.ts';
import { privateKeyPem } from '../../pki/pem.ts';
import { readIfThere, writePublicFile, writeSecretFile } from '../../pki/pki-files.ts';

const LIFE_MS = 365 * 86_400_000;
const BACKDATE_MS = 5 * 60_000;

/** The contents of one of the cluster's own certificates. */
export interface IssuedSpec {
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly purpose: 'server' | 'client';
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
}

export interface IssueContext {
  readonly authority: Authority;
  readonly nowMs: number;
  readonly log: Logger;
}

export interface Issued {
  readonly certificatePem: string;
  readonly keyPem: string;
}

/**
 * Ensures `name.crt` and `name.key`. A certificate that expires soon or lacks a name is renewed with its existing key,
 * so that certificate and key match at every moment. If it is from another authority or does not match its key, it is
 * left unchanged and the call rejects with `Invalid`.
 */
export async function ensureIssuedFiles(
  folder: string,
  name: string,
  spec: IssuedSpec,
  context: IssueContext,
): Promise<Issued> {
  const [certificateFile, keyFile] = [path.join(folder, `${name}.crt`), path.join(folder, `${name}.key`)];
  const [certificatePem, keyPem] = await Promise.all([readIfThere(certificateFile), readIfThere(keyFile)]);
  if (keyPem === undefined && certificatePem !== undefined)
    throw broken(
      keyFile,
      `is missing, but ${certificateFile} is there`,
      'restore the key, or move the certificate away to have both created again',
    );
  const key = keyPem === undefined ? newKey() : readKey(keyFile, keyPem);
  if (certificatePem !== undefined && keyPem !== undefined) {
    const judged = judgeCertificate({
      certificate: readCertificate(certificateFile, certificatePem),
      key,
      authority: context.authority.certificate,
      names: spec,
      nowMs: context.nowMs,
    });
    if (judged.kind === 'keep') return { certificatePem, keyPem };
    if (judged.kind === 'broken')
      throw broken(
        certificateFile,
        `cannot be used: ${judged.why}`,
        `restore it, or move it and ${keyFile} away to have both created again`,
      );
    context.log.info('renewing a certificate', { file: certificateFile, why: judged.why });
  }
  const made = await issue(certificateFile, spec, key, context);
  if (keyPem === undefined) await writeSecretFile(keyFile, privateKeyPem(key));
  await writePublicFile(certificateFile, made);
  return { certificatePem: made, keyPem: keyPem ?? privateKeyPem(key) };
}

const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

async function issue(
  file: string,
  spec: IssuedSpec,
  key: KeyObject,
  { authority, nowMs }: IssueContext,
): Promise<string> {
  if (authority.key === undefined)
    throw broken(
      file,
      'must be created, but ca.key, which signs it, is missing',
      'sign it on the machine that has ca.key, or copy ca.key to this folder',
    );
  const { writeCertificate } = await import('../../pki/x509-writer.ts');
  const { commonName, organizations, purpose, dnsNames, ipAddresses } = spec;
  const template = {
    subject: { commonName, organizations },
    publicKey: createPublicKey(key),
    notBeforeMs: nowMs - BACKDATE_MS,
    notAfterMs: Math.min(nowMs + LIFE_MS, authority.certificate.validToDate.getTime()),
    keyUsages: ['digitalSignature', 'keyEncipherment'] as const,
    extendedKeyUsages: [purpose === 'server' ? extendedUsages.serverAuth : extendedUsages.clientAuth],
    altNames: { ...noNames, dnsNames, ipAddresses },
  };
  return writeCertificate(template, { certificate: authority.certificatePem, key: authority.key });
}

export interface KubeconfigSpec {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** For example `https://host:port`. */
  readonly server: string;
}

/**
 * Ensures a kubeconfig with its own client certificate. An existing one is recreated when its certificate expires soon
 * or it names another server. One without a certificate belongs to a user and is kept. For another authority, the call
 * rejects with `Invalid`.
 */
export async function ensureKubeconfig(file: string, spec: KubeconfigSpec, context: IssueContext): Promise<void> {
  const { commonName, organizations, server } = spec;
  const existing = await readIfThere(file);
  let key: KeyObject | undefined;
  if (existing !== undefined) {
    const embedded = readEmbedded(file, existing);
    if (embedded === undefined) return;
    key = embedded.key;
    const judged = judgeCertificate({
      ...embedded,
      authority: context.authority.certificate,
      names: noNames,
      nowMs: context.nowMs,
    });
    if (judged.kind === 'broken')
      throw broken(file, `cannot be used: ${judged.why}`, 'move it away to have it created again');
    if (judged.kind === 'keep' && embedded.server === server) return;
    context.log.info('rewriting a kubeconfig', {
      file,
      why: judged.kind === 'renew' ? judged.why : `the server is ${server} now`,
    });
  }
  key ??= newKey();
  const certificate = await issue(
    file,
    { commonName, organizations, purpose: 'client', dnsNames: [], ipAddresses: [] },
    key,
    context,
  );
  await writeSecretFile(
    file,
    formatKubeconfig({
      user: commonName,
      server,
      authority: context.authority.certificatePem,
      certificate,
      key: privateKeyPem(key),
    }),
  );
}

interface Embedded {
  readonly certificate: ReturnType<typeof readCertificate>;
  readonly key: KeyObject;
  readonly server: string;
}

function readEmbedded(file: string, content: string): Embedded | undefined {
  const field = (name: string): string | undefined =>
    new RegExp(`^[ \\t]*(?:- )?${name}:[ \\t]*"?([^\\s"]+)"?\\s*$`, 'm').exec(content)?.[1];
  const [certificate, key, server] = [field('client-certificate-data'), field('client-key-data'), field('server')];
  if (certificate === undefined || key === undefined || server === undefined) return undefined;
  const decode = (text: string): string => Buffer.from(text, 'base64').toString();
  return {
    certificate: readCertificate(file, decode(certificate), 'move it away to have it created again'),
    key: readKey(file, decode(key)),
    server,
  };
}

export interface KubeconfigParts {
  readonly user: string;
  readonly server: string;
  /** PEM, all three. */
  readonly authority: string;
  readonly certificate: string;
  readonly key: string;
}

/** Formats a kubeconfig as kubeadm does: cluster `kubernetes`, context `user@kubernetes`. */
function formatKubeconfig({ user, server, authority, certificate, key }: KubeconfigParts): string {
  const data = (pem: string): string => Buffer.from(pem).toString('base64');
  return [
    'apiVersion: v1',
    'kind: Config',
    'clusters:',
    '- name: kubernetes',
    '  cluster:',
    `    certificate-authority-data: ${data(authority)}`,
    `    server: ${server}`,
    'contexts:',
    `- name: ${user}@kubernetes`,
    '  context:',
    '    cluster: kubernetes',
    `    user: ${user}`,
    `current-context: ${user}@kubernetes`,
    'users:',
    `- name: ${user}`,
    '  user:',
    `    client-certificate-data: ${data(certificate)}`,
    `    client-key-data: ${data(key)}`,
    '',
  ].join('\n');
}
