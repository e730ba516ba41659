/** Kubeconfigs of the cluster's own programs, signed with the authority in the data folder. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { ensureAuthority } from '../../control-plane/pki/authority-files.ts';
import { ensureKubeconfig } from '../../control-plane/pki/issued-files.ts';
import type { Instance } from '../instance.ts';
import { NODE_NETWORK_USER } from './cluster-objects.ts';

export const authorityFile = (instance: Instance): string => join(instance.controlPlaneDir, 'pki', 'ca.crt');
export const agentConfig = (instance: Instance): string => join(instance.nodeDir, 'kubelet.conf');

/** Made anew when they end soon or the server has moved. */
export async function ensureCredentials(instance: Instance, { server, nodeName }: { readonly server: string; readonly nodeName: string }): Promise<void> {
  mkdirSync(instance.nodeDir, { recursive: true, mode: 0o700 });
  const nowMs = systemClock.nowMs();
  const context = { authority: await ensureAuthority(join(instance.controlPlaneDir, 'pki'), nowMs), nowMs, log: silentLogger };
  await ensureKubeconfig(instance.nodeNetworkConfig, { commonName: NODE_NETWORK_USER, organizations: [], server }, context);
  await ensureKubeconfig(agentConfig(instance), { commonName: `system:node:${nodeName}`, organizations: ['system:nodes'], server }, context);
}
