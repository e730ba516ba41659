import { formatKey } from '../../../api/client/resource-type.ts';
import type { ApiObject, ObjectKey, ResourceType } from '../../../api/client/resource-type.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { DefinitionIndex } from '../definition-index.ts';
import type { CacheEvent } from './event-window.ts';
import type { KindCache, WatchCache } from './watch-cache.ts';

/** Creates synchronous reads from the cache. The definition of a kind determines the type of its objects. */
export function createCacheReader(caches: Pick<WatchCache, 'find'>, definitions: DefinitionIndex): ObjectReader {
  const kindOf = (type: ResourceType): KindCache | undefined => {
    const definition = definitions.byType(type);
    return definition === undefined ? undefined : caches.find(definition);
  };
  return {
    get: <T extends ApiObject>(type: ResourceType<T>, key: ObjectKey) =>
      kindOf(type)?.objects.get(formatKey(key))?.object as T | undefined,
    list: <T extends ApiObject>(type: ResourceType<T>, namespace: string) => {
      const found: T[] = [];
      for (const [, object] of kindOf(type)?.objects.range(namespace === '' ? '' : `${namespace}/`) ?? [])
        found.push(object.object as T);
      return found;
    },
    onChange: <T extends ApiObject>(
      type: ResourceType<T>,
      listener: (before: T | undefined, after: T | undefined) => void,
    ) => {
      const kind = kindOf(type);
      const tell = ({ before, after, deleted }: CacheEvent): void =>
        listener(before?.object as T | undefined, deleted ? undefined : (after.object as T));
      kind?.listeners.add(tell);
      return () => void kind?.listeners.delete(tell);
    },
  };
}
