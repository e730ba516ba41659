import type { OwnerReference } from '../../../api/core/meta.ts';
import { isRecord } from '../../../base/json-record.ts';

/** The metadata of an object of another server, as far as controllers need it. */
export interface CheckedMetadata {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly deletionTimestamp?: string;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
}

/** The maximum length of the texts of one object. */
const MOST_TEXT = 4096;

/** Returns the checked metadata of an object. Throws if it is invalid, because then nothing is known about the object. */
export function checkMetadata(object: unknown): CheckedMetadata {
  const metadata = isRecord(object) ? object['metadata'] : undefined;
  if (!isRecord(metadata)) throw new Error('an object has no metadata');
  let left = MOST_TEXT;
  const textOf = (value: unknown, what: string): string => {
    if (typeof value !== 'string' || value === '') throw new Error(`the metadata of an object has no valid ${what}`);
    left -= value.length;
    if (left < 0) throw new Error(`the metadata of an object has texts of more than ${MOST_TEXT} characters`);
    return value;
  };
  const listOf = (value: unknown, what: string): readonly unknown[] => {
    if (!Array.isArray(value)) throw new Error(`the ${what} of an object are not a list`);
    return value;
  };
  const { name, namespace, uid, resourceVersion, deletionTimestamp, finalizers, ownerReferences } = metadata;
  return {
    name: textOf(name, 'name'),
    namespace: namespace === undefined || namespace === '' ? '' : textOf(namespace, 'namespace'),
    uid: textOf(uid, 'uid'),
    resourceVersion: textOf(resourceVersion, 'resourceVersion'),
    ...(isSet(deletionTimestamp) && { deletionTimestamp: textOf(deletionTimestamp, 'deletionTimestamp') }),
    ...(isSet(finalizers) && {
      finalizers: listOf(finalizers, 'finalizers').map((each) => textOf(each, 'finalizer')),
    }),
    ...(isSet(ownerReferences) && {
      ownerReferences: listOf(ownerReferences, 'ownerReferences').map((each): OwnerReference => {
        if (!isRecord(each)) throw new Error('an owner reference is not an object');
        return {
          apiVersion: textOf(each['apiVersion'], 'apiVersion of an owner'),
          kind: textOf(each['kind'], 'kind of an owner'),
          name: textOf(each['name'], 'name of an owner'),
          uid: textOf(each['uid'], 'uid of an owner'),
          ...(each['controller'] === true && { controller: true }),
          ...(each['blockOwnerDeletion'] === true && { blockOwnerDeletion: true }),
        };
      }),
    }),
  };
}

const isSet = (value: unknown): boolean => value !== undefined && value !== null;
