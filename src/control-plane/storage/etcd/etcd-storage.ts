import type { Clock } from '../../../base/clock.ts';
import { isKind, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { keyAfter, prefixEnd } from '../key-range.ts';
import type {
  PutOptions,
  Storage,
  StorageEvent,
  StorageListOptions,
  StorageWatch,
  StorageWatchEnd,
  StoredList,
  StoredValue,
  WriteGuard,
  WriteResult,
} from '../storage.ts';
import { plainText } from '../value-codec.ts';
import type { ValueCodec } from '../value-codec.ts';
import { revisionOf, valueOf, valuesOf } from './etcd-answers.ts';
import { EtcdClient } from './etcd-client.ts';
import type { EtcdClientOptions } from './etcd-client.ts';
import { EtcdLeases } from './etcd-leases.ts';
import { EtcdWatches } from './etcd-watches.ts';
import { Compare_CompareResult, Compare_CompareTarget } from './generated/etcd-v3.ts';
import type { RangeResponse } from './generated/etcd-v3.ts';

/** The number of keys per call. A list without a limit makes several calls at one revision. */
const PAGE_KEYS = 500;

export interface EtcdStorageOptions extends EtcdClientOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** The encoding of values in etcd; by default plain text. */
  readonly codec?: ValueCodec;
}

/**
 * The store in an etcd v3 cluster. etcd provides conditions, revisions, order and durability. In addition, a write
 * resolves only after the watches of this process have received it (`EtcdWatches.heard`). Other API servers may write
 * to the same etcd at the same time.
 */
export class EtcdStorage implements Storage {
  readonly #client: EtcdClient;
  readonly #leases: EtcdLeases;
  readonly #watches: EtcdWatches;
  readonly #codec: ValueCodec;
  #closed = false;

  /** The first call connects. */
  constructor(options: EtcdStorageOptions) {
    this.#codec = options.codec ?? plainText;
    this.#client = new EtcdClient(options);
    this.#leases = new EtcdLeases(this.#client, options.clock);
    this.#watches = new EtcdWatches({
      ...{ client: this.#client, clock: options.clock, log: options.log },
      codec: this.#codec,
    });
  }

  async get(key: string): Promise<StoredValue | undefined> {
    const { kvs } = await this.#client.kv.range({ key });
    return valueOf(kvs[0], key, this.#codec);
  }

  async list(prefix: string, options: StorageListOptions = {}): Promise<StoredList> {
    const { limit = 0, afterKey, revision = 0 } = options;
    const rangeEnd = prefixEnd(prefix) ?? '\0';
    const items: StoredValue[] = [];
    let key = afterKey?.startsWith(prefix) === true ? keyAfter(afterKey) : prefix === '' ? '\0' : prefix;
    let shown = revision;
    for (;;) {
      const pageLimit = limit === 0 ? PAGE_KEYS : Math.min(PAGE_KEYS, limit - items.length);
      const page: RangeResponse = await this.#client.kv.range({ key, rangeEnd, limit: pageLimit, revision: shown });
      if (shown === 0) shown = revisionOf(page);
      const values = valuesOf(page, { from: key === '\0' ? '' : key, prefix, limit: pageLimit, codec: this.#codec });
      for (const value of values) items.push(value);
      const remaining = Math.max(0, Number(page.count) - values.length);
      const last = values.at(-1);
      if (!page.more || last === undefined || items.length === limit) return { items, revision: shown, remaining };
      key = keyAfter(last.key);
    }
  }

  async revision(): Promise<number> {
    const revision = revisionOf(await this.#client.kv.range({ key: '\0', countOnly: true }));
    this.#watches.expect(revision);
    return revision;
  }

  async put(key: string, text: string, options: PutOptions): Promise<WriteResult> {
    const value = this.#codec.encode(text);
    const { ttlSeconds } = options;
    const write = (lease?: bigint): Promise<WriteResult> =>
      this.#write(key, text, {
        ...options,
        request: { requestPut: { key, value, ...(lease !== undefined && { lease }) } },
      });
    if (ttlSeconds === undefined) return write();
    try {
      return await write(await this.#leases.leaseFor(ttlSeconds));
    } catch (error) {
      // The lease no longer exists (revoked manually, or expired while etcd could not be reached), and nothing was
      // written.
      if (!isKind(error, 'NotFound')) throw error;
      this.#leases.forget(ttlSeconds);
      return write(await this.#leases.leaseFor(ttlSeconds));
    }
  }

  async delete(key: string, expected: number, guard?: WriteGuard): Promise<WriteResult> {
    // To etcd, deleting what is not there under the condition that it is not there would be a success.
    if (expected === 0) return { outcome: 'conflict', current: await this.get(key) };
    return this.#write(key, undefined, { expected, ...(guard && { guard }), request: { requestDeleteRange: { key } } });
  }

  watch(
    prefix: string,
    after: number,
    listener: (events: readonly StorageEvent[], revision: number) => void,
    onEnd: (error: StorageWatchEnd) => void,
  ): StorageWatch {
    if (this.#closed) throw new KubeletError('Aborted', 'the store is closed', { op: 'storage' });
    return this.#watches.add({ prefix, listener, onEnd }, after);
  }

  async compact(revision: number): Promise<void> {
    try {
      await this.#client.kv.compact({ revision });
    } catch (error) {
      // Compacted to here or further already.
      if (!isKind(error, 'Conflict')) throw error;
    }
  }

  /**
   * Makes a linearizable read, which like a write needs a leader and a majority. An alarm means that etcd accepts no
   * writes.
   */
  async check(): Promise<void> {
    await this.revision();
    const { errors } = await this.#client.maintenance.status({});
    if (errors.length > 0) throw new KubeletError('Unavailable', `etcd reports ${errors.join('; ')}`, { op: 'check' });
  }

  async sizeBytes(): Promise<number> {
    return Number((await this.#client.maintenance.status({})).dbSize);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#watches.close();
    this.#client.close();
  }

  /**
   * Writes. `value` is the value afterwards; undefined if there is none. If an answer is lost, the transaction is sent
   * again. It has no effect if the first one succeeded, because the key then has the written value.
   */
  async #write(
    key: string,
    value: string | undefined,
    { expected, guard, request }: Pick<PutOptions, 'expected' | 'guard'> & { readonly request: object },
  ): Promise<WriteResult> {
    const { answer, isRepeated } = await this.#client.txn({
      compare: [isOfRevision(key, expected), ...(guard === undefined ? [] : [isOfRevision(guard.key, guard.revision)])],
      success: [request],
      failure: [{ requestRange: { key } }, ...(guard === undefined ? [] : [{ requestRange: { key: guard.key } }])],
    });
    if (answer.succeeded) return this.#done(revisionOf(answer));
    const [standing, guarding] = answer.responses.map(({ responseRange }) => responseRange?.kvs[0]);
    const current = valueOf(standing, key, this.#codec);
    if (isRepeated && current?.value === value && current?.revision !== expected)
      return this.#done(current?.revision ?? revisionOf(answer));
    if (guard !== undefined && valueOf(guarding, guard.key, this.#codec)?.revision !== guard.revision)
      return { outcome: 'fenced' };
    if (isRepeated)
      throw new KubeletError(
        'Unavailable',
        `it is not known whether ${key} was written: another client has written it since`,
        {
          op: 'etcd',
        },
      );
    return { outcome: 'conflict', current };
  }

  async #done(revision: number): Promise<WriteResult> {
    await this.#watches.heard(revision);
    return { outcome: 'done', revision };
  }
}

const isOfRevision = (key: string, modRevision: number): object => ({
  ...{ result: Compare_CompareResult.EQUAL, target: Compare_CompareTarget.MOD, key, modRevision },
});
