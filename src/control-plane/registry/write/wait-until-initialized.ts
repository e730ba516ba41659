import { withDeadline } from '../../../base/clock.ts';
import { isKind } from '../../../base/errors.ts';
import { formatKey } from '../../../api/client/resource-type.ts';
import { initializersOf } from '../../../api/core/initializers.ts';
import { apiErrorFromStatus, ApiStatusError } from '../../../api/status/api-status-error.ts';
import type { CacheEvent } from '../cache/event-window.ts';
import type { ResourceRequest, Served } from '../registry.ts';
import { asServed } from './write-tools.ts';
import type { WriteTools } from './write-tools.ts';

/** The time that a creation waits for initializers: the default request timeout. */
const WAIT_MS = 30_000;

/**
 * Waits for the initializers and returns the initialized object (upstream: Store.WaitForInitialized). Throws the
 * rejection of an initializer, or Timeout if they take too long; the object is then still uninitialized.
 */
export async function waitUntilInitialized(
  tools: WriteTools,
  { definition, context }: ResourceRequest,
  created: Served,
): Promise<Served> {
  const { metadata } = created.object;
  if (context.dryRun || context.takesUninitialized === true || initializersOf(metadata) === undefined) return created;
  const { listeners, objects } = tools.cache.kind(definition);
  const key = formatKey(metadata);
  let listener: ((event: CacheEvent) => void) | undefined;
  const initialized = new Promise<Served>((resolve, reject) => {
    const judge = (now: Served | undefined): void => {
      const verdict = judgeInitialization(now, metadata.uid);
      if (verdict === 'initialized' && now !== undefined) resolve(asServed(definition, now));
      else if (verdict instanceof Error) reject(verdict);
    };
    listener = (event) => {
      if (event.key === key) judge(event.deleted ? undefined : event.after);
    };
    listeners.add(listener);
    judge(objects.get(key));
  });
  try {
    return await withDeadline({ clock: tools.clock, limitMs: WAIT_MS, op: 'initialization' }, () => initialized);
  } catch (error) {
    if (!isKind(error, 'Timeout')) throw error;
    throw new ApiStatusError(
      'Timeout',
      `server has timed out waiting for the initialization of ${definition.type.plural} ${metadata.name}`,
    );
  } finally {
    if (listener !== undefined) listeners.delete(listener);
  }
}

function judgeInitialization(now: Served | undefined, uid: string): 'initialized' | 'pending' | Error {
  if (now === undefined || now.object.metadata.uid !== uid)
    return new ApiStatusError('InternalError', 'object deleted while waiting for initialization');
  const initializers = initializersOf(now.object.metadata);
  if (initializers === undefined) return 'initialized';
  return initializers.result === undefined ? 'pending' : apiErrorFromStatus(initializers.result);
}
