/** `up --print-join-command --join-control-plane`: shares this machine's control plane with the bearer of one token. */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { secrets } from '../../api/client/resource-types.ts';
import { KubeletError } from '../../base/errors.ts';
import type { HttpApiClient } from '../../client/http-api-client.ts';
import type { Instance } from '../instance.ts';
import { applyObjects } from './cluster-client.ts';
import { readClusterRecord, servedRanges } from './cluster-record.ts';
import {
  etcdFileNames,
  sealShare,
  SHARE_KEY_BYTES,
  shareArguments,
  sharedFiles,
  shareObjects,
} from './control-plane-share.ts';
import type { SharedArguments } from './control-plane-share.ts';

export interface OfferedControlPlane {
  /** Hexadecimal digits. Only this key opens the share, and it is not stored. */
  readonly certificateKey: string;
  /** Files that flags of the control plane name: the other machine needs them at the same paths. */
  readonly needed: readonly string[];
}

/** The Secret of the token must exist. Throws `Invalid` when the cluster's store cannot be shared. */
export async function offerControlPlane(
  instance: Instance,
  api: HttpApiClient,
  tokenId: string,
): Promise<OfferedControlPlane> {
  const record = readClusterRecord(instance);
  if (record === undefined)
    throw new KubeletError(
      'Invalid',
      `${instance.dataDir} holds no cluster: npm run up -- --listen ADDRESS starts one`,
    );
  const { args, etcdFiles, needed } = shareArguments(record.controlPlaneArgs ?? []);
  const key = randomBytes(SHARE_KEY_BYTES);
  const share = { ...servedRanges(record), args, files: readFiles(instance, etcdFiles) };
  const name = `bootstrap-token-${tokenId}`;
  const token = await api.get(secrets, { namespace: 'kube-system', name });
  const owner = { apiVersion: 'v1', kind: 'Secret', name, uid: token.metadata.uid };
  await applyObjects(api, shareObjects(tokenId, owner, sealShare(share, key, randomBytes(12))));
  return { certificateKey: key.toString('hex'), needed };
}

function readFiles(instance: Instance, etcdFiles: SharedArguments['etcdFiles']): Record<string, string> {
  const pki = join(instance.controlPlaneDir, 'pki');
  const files = [...sharedFiles.map((name) => [name, join(pki, name)] as const), ...etcdFileNames(etcdFiles)];
  return Object.fromEntries(files.map(([name, file]) => [name, readFileSync(file, 'utf8')]));
}
