import type { Storage, StoredValue, WriteGuard, WriteResult } from './storage.ts';

/** The prefix of keys in this program. */
const OWN_PREFIX = '/registry/';

/** Normalizes a prefix, so that it begins and ends with one slash, as in upstream. */
export function normalizePrefix(prefix: string): string {
  const words = prefix.split('/').filter((word) => word !== '');
  return words.length === 0 ? '/' : `/${words.join('/')}/`;
}

/** Wraps a store whose keys begin with `prefix` instead of `/registry/`. Other keys are not visible. */
export function prefixedStorage(storage: Storage, prefix: string): Storage {
  if (prefix === OWN_PREFIX) return storage;
  const outer = (key: string): string => {
    if (!key.startsWith(OWN_PREFIX)) throw new Error(`the key ${key} does not begin with ${OWN_PREFIX}`);
    return prefix + key.slice(OWN_PREFIX.length);
  };
  const outerGuard = (guard: WriteGuard): WriteGuard => ({ ...guard, key: outer(guard.key) });
  const inner = (key: string): string => OWN_PREFIX + key.slice(prefix.length);
  const shown = <T extends { readonly key: string }>(item: T): T => ({ ...item, key: inner(item.key) });
  const shownResult = (result: WriteResult): WriteResult =>
    result.outcome !== 'conflict' || result.current === undefined
      ? result
      : { outcome: 'conflict', current: shown<StoredValue>(result.current) };
  return {
    get: async (key) => {
      const found = await storage.get(outer(key));
      return found === undefined ? undefined : shown(found);
    },
    list: async (keyPrefix, options = {}) => {
      const { afterKey, ...rest } = options;
      const list = await storage.list(outer(keyPrefix), {
        ...rest,
        ...(afterKey !== undefined && { afterKey: outer(afterKey) }),
      });
      return { ...list, items: list.items.map(shown) };
    },
    revision: () => storage.revision(),
    put: async (key, value, { guard, ...options }) =>
      shownResult(await storage.put(outer(key), value, { ...options, ...(guard && { guard: outerGuard(guard) }) })),
    delete: async (key, expected, guard) =>
      shownResult(await storage.delete(outer(key), expected, guard && outerGuard(guard))),
    watch: (keyPrefix, after, listener, onEnd) =>
      storage.watch(outer(keyPrefix), after, (events, revision) => listener(events.map(shown), revision), onEnd),
    compact: (revision) => storage.compact(revision),
    check: () => storage.check(),
    sizeBytes: () => storage.sizeBytes(),
    close: () => storage.close(),
  };
}
