/** The credentials of the cluster's own programs. */
import { randomInt } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { ensureAuthority } from '../../control-plane/pki/authority-files.ts';
import { ensureKubeconfig } from '../../control-plane/pki/issued-files.ts';
import type { Instance } from '../instance.ts';
import type { BootstrapToken } from './cluster-objects.ts';
import { NODE_NETWORK_USER, NODE_STORAGE_USER } from './cluster-objects.ts';

export const authorityFile = (instance: Instance): string => join(instance.controlPlaneDir, 'pki', 'ca.crt');
/** The agent writes this file when its first certificate is signed. */
export const agentConfig = (instance: Instance): string => join(instance.nodeDir, 'kubelet.conf');
export const bootstrapConfig = (instance: Instance): string => join(instance.nodeDir, 'bootstrap-kubelet.conf');

/** Created before the control plane starts, which gets it by flags. */
export async function ensureClusterAuthority(instance: Instance): Promise<void> {
  await ensureAuthority(join(instance.controlPlaneDir, 'pki'), systemClock.nowMs());
}

/** The kubeconfigs of the programs beside the agent. */
const programConfigs = (instance: Instance): [path: string, user: string][] => [
  [instance.nodeNetworkConfig, NODE_NETWORK_USER],
  [instance.nodeStorageConfig, NODE_STORAGE_USER],
];

/**
 * Certificates and kubeconfigs of the programs beside the agent, signed by the CA in the data folder. They are written
 * again when they expire soon or the server's address has changed.
 */
export async function ensureProgramConfigs(instance: Instance, server: string): Promise<void> {
  mkdirSync(instance.nodeDir, { recursive: true, mode: 0o700 });
  const nowMs = systemClock.nowMs();
  const context = {
    authority: await ensureAuthority(join(instance.controlPlaneDir, 'pki'), nowMs),
    nowMs,
    log: silentLogger,
  };
  for (const [path, commonName] of programConfigs(instance))
    await ensureKubeconfig(path, { commonName, organizations: [], server }, context);
}

const TOKEN_LETTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** The same lifetime as kubeadm's tokens. */
const TOKEN_LIFE_MS = 24 * 3_600_000;

export function newBootstrapToken(nowMs: number, lifeMs = TOKEN_LIFE_MS): BootstrapToken {
  const letters = (count: number): string =>
    Array.from({ length: count }, () => TOKEN_LETTERS[randomInt(TOKEN_LETTERS.length)]).join('');
  return {
    id: letters(6),
    secret: letters(16),
    expiration: new Date(nowMs + lifeMs).toISOString().replace(/\.\d+Z$/, 'Z'),
  };
}

/**
 * The credentials with which the agent requests its first certificate. Existing ones are kept, unless the address of
 * the API server has changed.
 */
export function writeBootstrapConfig(
  instance: Instance,
  {
    server,
    ca,
    token,
  }: { readonly server: string; readonly ca: string; readonly token: Pick<BootstrapToken, 'id' | 'secret'> },
): void {
  if (existsSync(agentConfig(instance)) && !readFileSync(agentConfig(instance), 'utf8').includes(server))
    rmSync(agentConfig(instance));
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'kubernetes', cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } },
    ],
    users: [{ name: 'bootstrap', user: { token: `${token.id}.${token.secret}` } }],
    contexts: [{ name: 'bootstrap', context: { cluster: 'kubernetes', user: 'bootstrap' } }],
    'current-context': 'bootstrap',
  };
  writeFileSync(bootstrapConfig(instance), stringify(config), { mode: 0o600 });
}
