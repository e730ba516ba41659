import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { objectValues } from '../registry/protobuf-values.ts';
import { prefixedStorage } from '../storage/prefixed-storage.ts';
import type { Storage } from '../storage/storage.ts';
import type { ControlPlaneOptions } from './control-plane-options.ts';
import { storedKinds } from './served-kinds.ts';

/** The store in the data directory. */
export const STATE_FILE = 'state.db';

/** The store the options name. The code of the other one is not loaded. */
export async function openStorage(options: ControlPlaneOptions, clock: Clock, log: Logger): Promise<Storage> {
  const { storage, dataDir } = options;
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
    ...{ endpoints: servers, clock, log, codec: objectValues(storedKinds(options), mediaType) },
    ...(tls !== undefined && { tls }),
  });
  return prefixedStorage(etcd, prefix);
}
