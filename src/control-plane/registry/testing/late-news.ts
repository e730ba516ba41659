import type { Storage } from '../../storage/storage.ts';

/** A store whose watches tell each change some turns of the event loop later: a cache behind it is out of date. */
export const withLateNews = (storage: Storage): Storage =>
  new Proxy(storage, {
    get: (target, name): unknown => {
      if (name !== 'watch') return (Reflect.get(target, name) as () => unknown).bind(target);
      const watch: Storage['watch'] = (prefix, after, listener, onEnd) =>
        target.watch(prefix, after, (...news) => setImmediate(setImmediate, listener, ...news), onEnd);
      return watch;
    },
  });
