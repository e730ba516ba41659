import { createPublicKey, generateKeyPair } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Logger } from '../../base/log.ts';
import { broken, ensureAuthority, frontProxyAuthority, readKey } from './authority-files.ts';
import type { Authority } from './authority-files.ts';
import { ensureIssuedFiles, ensureKubeconfig } from './issued-files.ts';
import type { Issued, IssuedSpec } from './issued-files.ts';
import { privateKeyPem, publicKeyPem } from '../../pki/pem.ts';
import { readIfThere, writePublicFile, writeSecretFile } from '../../pki/pki-files.ts';

export interface ClusterPkiOptions {
  /** The folder of `admin.conf` and the other kubeconfigs, with the certificates in `pki`, as kubeadm does. */
  readonly folder: string;
  readonly nowMs: number;
  readonly log: Logger;
  /** The URL of the API server for clients on this machine. */
  readonly serverUrl: string;
  /** The name of the API server's host, in addition to the default names and addresses. */
  readonly hostname: string;
  readonly addresses: readonly string[];
  readonly extraNames?: readonly string[];
  /** The first address of each service range, to which `kubernetes.default` resolves. */
  readonly serviceAddresses: readonly string[];
  /** The domain of the cluster; default `cluster.local`. */
  readonly clusterDomain?: string;
}

export interface ClusterPki {
  readonly authority: Authority;
  readonly authorityKeyPem: string | undefined;
  /** The API server's certificate for its clients. */
  readonly serving: Issued;
  /** Its certificate for kubelets. */
  readonly kubeletClient: Issued;
  /** The client certificate for aggregated API servers, and the authority that signed it. */
  readonly frontProxy: { readonly authorityPem: string; readonly client: Issued };
  readonly serviceAccountKey: KeyObject;
}

/**
 * All certificates, keys and kubeconfigs of the cluster, in kubeadm's layout. Creates missing files and renews
 * certificates that expire soon, so it may be called at any time. Never changes an existing authority. Rejects with
 * `Invalid`, which names the invalid file and what to do.
 */
export async function ensureClusterPki(options: ClusterPkiOptions): Promise<ClusterPki> {
  const { folder, nowMs, log, serverUrl } = options;
  const pki = path.join(folder, 'pki');
  const authority = await ensureAuthority(pki, nowMs);
  const context = { authority, nowMs, log };
  const proxyAuthority = await ensureAuthority(pki, nowMs, frontProxyAuthority);
  const [serving, kubeletClient, frontProxyClient, serviceAccountKey] = await Promise.all([
    ensureIssuedFiles(pki, 'apiserver', servingSpec(options), context),
    ensureIssuedFiles(
      pki,
      'apiserver-kubelet-client',
      {
        commonName: 'kube-apiserver-kubelet-client',
        organizations: [ADMINISTRATORS],
        purpose: 'client',
        dnsNames: [],
        ipAddresses: [],
      },
      context,
    ),
    ensureIssuedFiles(
      pki,
      'front-proxy-client',
      { commonName: 'front-proxy-client', organizations: [], purpose: 'client', dnsNames: [], ipAddresses: [] },
      { ...context, authority: proxyAuthority },
    ),
    ensureServiceAccountKey(pki),
  ]);
  for (const [file, commonName, organizations] of kubeconfigs)
    await ensureKubeconfig(path.join(folder, file), { commonName, organizations, server: serverUrl }, context);
  const authorityKeyPem = authority.key === undefined ? undefined : privateKeyPem(authority.key);
  const frontProxy = { authorityPem: proxyAuthority.certificatePem, client: frontProxyClient };
  return { authority, authorityKeyPem, serving, kubeletClient, frontProxy, serviceAccountKey };
}

/**
 * kubeadm's group of administrators. It is bound to cluster-admin, so that, unlike those of system:masters, its rights
 * can be revoked.
 */
const ADMINISTRATORS = 'kubeadm:cluster-admins';

const kubeconfigs: readonly (readonly [string, string, readonly string[]])[] = [
  ['admin.conf', 'kubernetes-admin', [ADMINISTRATORS]],
  ['super-admin.conf', 'kubernetes-super-admin', ['system:masters']],
  ['controller-manager.conf', 'system:kube-controller-manager', []],
  ['scheduler.conf', 'system:kube-scheduler', []],
];

function servingSpec({
  hostname,
  addresses,
  extraNames = [],
  serviceAddresses,
  clusterDomain = 'cluster.local',
}: ClusterPkiOptions): IssuedSpec {
  const isAddress = (name: string): boolean => name.includes(':') || /^[0-9.]+$/.test(name);
  const names = [
    'kubernetes',
    'kubernetes.default',
    'kubernetes.default.svc',
    `kubernetes.default.svc.${clusterDomain}`,
    'localhost',
    hostname,
    ...extraNames,
  ];
  return {
    commonName: 'kube-apiserver',
    organizations: [],
    purpose: 'server',
    dnsNames: [...new Set(names.filter((name) => !isAddress(name)))],
    ipAddresses: [
      ...new Set([
        ...serviceAddresses,
        ...addresses,
        '127.0.0.1',
        '::1',
        ...[hostname, ...extraNames].filter(isAddress),
      ]),
    ],
  };
}

/** Ensures `sa.key` and `sa.pub`. They are RSA, which every verifier of tokens supports. */
async function ensureServiceAccountKey(folder: string): Promise<KeyObject> {
  const [privateFile, publicFile] = [path.join(folder, 'sa.key'), path.join(folder, 'sa.pub')];
  const [privatePem, publicPem] = await Promise.all([readIfThere(privateFile), readIfThere(publicFile)]);
  if (privatePem === undefined) {
    if (publicPem !== undefined)
      throw broken(
        privateFile,
        `is missing, but ${publicFile} is there`,
        'restore it, or move the other away: then all tokens of service accounts become invalid',
      );
    const { privateKey } = await promisify(generateKeyPair)('rsa', { modulusLength: 2048 });
    await writeSecretFile(privateFile, privateKeyPem(privateKey));
    await writePublicFile(publicFile, publicKeyPem(createPublicKey(privateKey)));
    return privateKey;
  }
  const key = readKey(privateFile, privatePem);
  const expected = publicKeyPem(createPublicKey(key));
  if (publicPem === undefined) await writePublicFile(publicFile, expected);
  else if (!isSamePublicKey(publicPem, key))
    throw broken(
      publicFile,
      `does not belong to ${privateFile}`,
      'restore the one of the two that was replaced; the public one alone may be removed and is then written again',
    );
  return key;
}

function isSamePublicKey(pem: string, key: KeyObject): boolean {
  try {
    return createPublicKey(pem).equals(createPublicKey(key));
  } catch {
    return false;
  }
}
