import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { objectValues } from '../registry/protobuf-values.ts';
import { allResources } from '../resources/all.ts';
import { prefixedStorage } from '../storage/prefixed-storage.ts';
import type { Storage } from '../storage/storage.ts';
import type { ControlPlaneOptions } from './control-plane-options.ts';

/** The store in the data directory. */
export const STATE_FILE = 'state.db';

/** The store the options name. The code of the other one is not loaded. */
export async function openStorage(
  { storage, dataDir }: ControlPlaneOptions,
  clock: Clock,
  log: Logger,
): Promise<Storage> {
  if (storage.backend === 'sqlite') {
    const { SqliteStorage } = await import('../storage/sqlite/sqlite-storage.ts');
    return new SqliteStorage({ file: path.join(dataDir, STATE_FILE), clock, log });
  }
  const { EtcdStorage } = await import('../storage/etcd/etcd-storage.ts');
  const { caFile, certFile, keyFile, servers, prefix, mediaType } = storage;
  const tls =
    caFile === undefined
      ? undefined
      : {
          ca: readFileSync(caFile),
          ...(certFile !== undefined && { cert: readFileSync(certFile) }),
          ...(keyFile !== undefined && { key: readFileSync(keyFile) }),
        };
  const etcd = new EtcdStorage({
    ...{ endpoints: servers, clock, log, codec: objectValues(allResources, mediaType) },
    ...(tls !== undefined && { tls }),
  });
  return prefixedStorage(etcd, prefix);
}
