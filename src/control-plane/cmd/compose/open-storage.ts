import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import { processorMs } from '../../../base/turn-share.ts';
import { objectValues } from '../../registry/protobuf-values.ts';
import { prefixedStorage } from '../../storage/prefixed-storage.ts';
import type { Storage } from '../../storage/storage.ts';
import type { ControlPlaneOptions, StorageOverride } from '../flags/control-plane-options.ts';
import { storedKinds } from './served-kinds.ts';

/** The store in the data directory. */
export const STATE_FILE = 'state.db';

/** A store of single resources. */
export interface OverridingStore {
  readonly override: StorageOverride;
  readonly storage: Storage;
}

/** All stores of a control plane. */
export interface Stores {
  readonly main: Storage;
  readonly others: readonly OverridingStore[];
  close(): Promise<void>;
}

/** Opens the stores of the options. The code of the other kind of store is not loaded. */
export async function openStores(options: ControlPlaneOptions, clock: Clock, log: Logger): Promise<Stores> {
  const { storage, dataDir } = options;
  if (storage.backend === 'sqlite') {
    const { SqliteStorage } = await import('../../storage/sqlite/sqlite-storage.ts');
    const main = new SqliteStorage({ file: path.join(dataDir, STATE_FILE), clock, log, workedMs: processorMs });
    return { main, others: [], close: () => main.close() };
  }
  const { EtcdStorage } = await import('../../storage/etcd/etcd-storage.ts');
  const { caFile, certFile, keyFile, prefix, mediaType } = storage;
  const tls =
    caFile === undefined
      ? undefined
      : {
          ca: readFileSync(caFile),
          ...(certFile !== undefined && { cert: readFileSync(certFile) }),
          ...(keyFile !== undefined && { key: readFileSync(keyFile) }),
        };
  const codec = objectValues(storedKinds(options), mediaType);
  const open = (endpoints: readonly string[]): Storage =>
    prefixedStorage(new EtcdStorage({ endpoints, clock, log, codec, ...(tls !== undefined && { tls }) }), prefix);
  const main = open(storage.servers);
  const others = storage.overrides.map((override) => ({ override, storage: open(override.servers) }));
  return {
    main,
    others,
    close: async () => {
      await Promise.all([main, ...others.map((other) => other.storage)].map((each) => each.close()));
    },
  };
}
