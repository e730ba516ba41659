import type { Storage } from '../../storage/storage.ts';

/**
 * Wraps a store so that its watches report each change some turns of the event loop later. A cache behind it is
 * outdated.
 */
export const withLateNews = (storage: Storage): Storage =>
  new Proxy(storage, {
    get: (target, name): unknown => {
      if (name !== 'watch') return (Reflect.get(target, name) as () => unknown).bind(target);
      const watch: Storage['watch'] = (prefix, after, listener, onEnd) =>
        target.watch(prefix, after, (...news) => setImmediate(setImmediate, listener, ...news), onEnd);
      return watch;
    },
  });
