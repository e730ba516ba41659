import { PodSchema } from '../../../api/core/pod.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { encodeMessage } from '../../../api/protobuf/encode-protobuf.ts';
import type { Clock } from '../../../base/clock.ts';
import { isKind } from '../../../base/errors.ts';
import { EventType } from '../../../devices/generated/pods-v1alpha1.ts';
import type { WatchPodsEvent } from '../../../devices/generated/pods-v1alpha1.ts';
import { servePods } from '../../../devices/pods-server.ts';
import type { PodsApi, PodsApiServer } from '../../ports/pods-api.ts';
import { createRateLimit, exhausted, limitedRate } from './rate-limit.ts';

/** The maximum number of concurrent watches, because each costs the encoding of every change. */
const MAX_WATCHES = 100;

/** Serves the Pods API over gRPC on a unix socket. */
export function createPodsApiServer(clock: Pick<Clock, 'monotonicMs'>): PodsApiServer {
  return {
    serve(socketPath, api) {
      const takes = createRateLimit({ ...limitedRate, clock });
      const checkRate = (): void => {
        if (!takes()) throw exhausted('rejected by rate limit');
      };
      let watches = 0;
      async function* watch(signal: AbortSignal): AsyncGenerator<WatchPodsEvent> {
        checkRate();
        if (watches >= MAX_WATCHES) throw exhausted(`there are ${MAX_WATCHES} watches already`);
        watches += 1;
        try {
          yield* eventsOf(api, signal);
        } finally {
          watches -= 1;
        }
      }
      return servePods(socketPath, {
        listPods: async () => {
          checkRate();
          return { pods: api.list().map(podBytes) };
        },
        getPod: async ({ podUID = '' }) => {
          checkRate();
          return { pod: podBytes(api.get(podUID)) };
        },
        watchPods: (_request, { signal } = {}) => watch(signal ?? new AbortController().signal),
      });
    },
  };
}

async function* eventsOf(api: PodsApi, signal: AbortSignal): AsyncGenerator<WatchPodsEvent> {
  try {
    for await (const event of api.watch(signal))
      yield { type: EventType[event.type], pod: 'pod' in event ? podBytes(event.pod) : new Uint8Array() };
  } catch (error) {
    throw isKind(error, 'Unavailable') ? exhausted('watch client channel closed') : error;
  }
}

function podBytes(pod: Pod): Uint8Array {
  return encodeMessage(pod, PodSchema);
}
