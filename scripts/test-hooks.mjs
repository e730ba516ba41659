// To be imported before node:test. It follows each promise of a test with an async hook, to name the test to which an
// uncaught error belongs. That took a quarter of the processor time of the unit tests. Here it follows other resources
// (timers, sockets) only. An uncaught error still fails its test, or the file where the test is not known.
import { createRequire } from 'node:module';

// The object that node:test reads its function from; the namespace of an import cannot be changed.
const asyncHooks = createRequire(import.meta.url)('node:async_hooks');
const { createHook } = asyncHooks;
asyncHooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });
