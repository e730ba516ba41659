import { KubeletError } from '../../../base/errors.ts';
import type { StoredValue } from '../storage.ts';
import type { ValueCodec } from '../value-codec.ts';
import type { KeyValue, RangeResponse, ResponseHeader } from './generated/etcd-v3.ts';

/** The request for a range of keys. */
export interface PageQuestion {
  /** The first possible key. */
  readonly from: string;
  readonly prefix: string;
  readonly limit: number;
  readonly codec: ValueCodec;
}

const malformed = (what: string): KubeletError =>
  new KubeletError('Internal', `etcd answered with ${what}`, { op: 'etcd' });

/** Returns the revision. Throws `Internal` if a number cannot represent it exactly. */
export function revisionOf({ header }: { header?: ResponseHeader | undefined }): number {
  return revisionNumber(header?.revision ?? 0n);
}

function revisionNumber(revision: bigint): number {
  const number = Number(revision);
  if (!Number.isSafeInteger(number) || number < 0) throw malformed('an impossible revision');
  return number;
}

/** Returns the value. Throws `Internal` for a value of another key. */
export function valueOf(kv: KeyValue | undefined, key: string, codec: ValueCodec): StoredValue | undefined {
  if (kv === undefined) return undefined;
  if (kv.key !== key) throw malformed('the value of another key');
  return { key, value: codec.decode(kv.value), revision: revisionNumber(kv.modRevision) };
}

/**
 * Returns the values of a page. Throws `Internal` for more values than requested, for keys outside of the prefix, and
 * for keys that do not increase. With such keys a list that continues after the last key of each page would never end,
 * or would contain other objects.
 */
export function valuesOf({ kvs }: RangeResponse, { from, prefix, limit, codec }: PageQuestion): StoredValue[] {
  if (kvs.length > limit) throw malformed('more keys than requested');
  let [least, isNext] = [Buffer.from(from), true];
  return kvs.map(({ key, value, modRevision }) => {
    const bytes = Buffer.from(key);
    const order = bytes.compare(least);
    if (!key.startsWith(prefix) || order < 0 || (order === 0 && !isNext))
      throw malformed('keys that were not requested');
    [least, isNext] = [bytes, false];
    return { key, value: codec.decode(value), revision: revisionNumber(modRevision) };
  });
}
