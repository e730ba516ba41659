import type { Clock } from '../../base/clock.ts';
import { sleep } from '../../base/clock.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { ApiClient } from '../../api/client/api-client.ts';
import { apiVersionOf, keyOf } from '../../api/client/resource-type.ts';
import type { ApiObject, ResourceType } from '../../api/client/resource-type.ts';
import { events } from '../../api/client/resource-types.ts';
import type { Event } from '../../api/core/event.ts';
import type { ObjectReference } from '../../api/core/meta.ts';
import { EventCorrelator } from '../../api/event-correlator.ts';
import { makeEvent } from '../../api/make-event.ts';
import type { Said } from '../../api/make-event.ts';
import { isApiError } from '../../api/status/api-status-error.ts';

/** The maximum number of queued events; further ones are dropped (upstream: maxQueuedEvents). */
const QUEUE = 1_000;
const TRIES = 3;
const RETRY_MS = 1_000;

/** Records what was done to an object as a core/v1 Event. Never waits and never fails. */
export interface EventRecorder {
  event<T extends ApiObject>(type: ResourceType<T>, object: T, said: Said): void;
  /** Resolves when all recorded events are written or dropped. */
  flushed(): Promise<void>;
}

export interface EventRecorderOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly log: Logger;
  /** The reporting component, such as `deployment-controller`. */
  readonly component: string;
}

/**
 * Similar events are combined, equal ones counted, and excess events about one object dropped, as client-go's
 * correlator does.
 */
export function createEventRecorder({ client, clock, log, component }: EventRecorderOptions): EventRecorder {
  const correlator = new EventCorrelator();
  let serial = 0;
  let queued = 0;
  let writing: Promise<void> = Promise.resolve();
  const write = async (event: Event): Promise<void> => {
    for (let left = TRIES; left > 0; left--) {
      try {
        await record(client, event);
        return;
      } catch (error) {
        if (
          left === 1 ||
          !isApiError(error, 'ServiceUnavailable', 'InternalError', 'Timeout', 'ServerTimeout', 'TooManyRequests')
        ) {
          log.debug(2, 'An event was not recorded', {
            reason: event.reason,
            object: event.involvedObject.name,
            error: errorMessage(error),
          });
          return;
        }
        await sleep(clock, RETRY_MS);
      }
    }
  };
  return {
    event: (type, object, said) => {
      const nowMs = clock.nowMs();
      const correlated = correlator.correlate(
        makeEvent(referenceTo(type, object), said, { nowMs, serial: serial++, component, host: '' }),
        nowMs,
      );
      if (correlated.kind === 'skip' || queued >= QUEUE) return;
      queued++;
      writing = writing.then(() => write(correlated.event)).finally(() => queued--);
    },
    flushed: async () => writing,
  };
}

async function record(client: ApiClient, event: Event): Promise<void> {
  if ((event.count ?? 1) > 1) {
    try {
      await client.patch(events, keyOf(event), {
        type: 'merge',
        body: { count: event.count, lastTimestamp: event.lastTimestamp, message: event.message },
      });
      return;
    } catch (error) {
      // Events expire, so an old one is created again.
      if (!isApiError(error, 'NotFound')) throw error;
    }
  }
  await client.create(events, event);
}

function referenceTo(type: ResourceType, { metadata }: ApiObject): ObjectReference {
  const { namespace, name, uid, resourceVersion } = metadata;
  return {
    kind: type.kind,
    ...(namespace !== '' && { namespace }),
    name,
    uid,
    apiVersion: apiVersionOf(type),
    ...(resourceVersion !== undefined && { resourceVersion }),
  };
}
