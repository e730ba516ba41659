import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Event } from '../../../api/core/event.ts';
import type { ObjectReference } from '../../../api/core/meta.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import { EventCorrelator } from '../../../api/event-correlator.ts';
import type { Said } from '../../../api/make-event.ts';
import { makeEvent } from '../../../api/make-event.ts';
import { EventStore } from './event-store.ts';
import { nodeReference, podReference } from './event-reference.ts';

/** The part of the pod's timeline that records events. */
export interface EventTimeline {
  record(uid: PodUid, entry: { kind: 'event'; type: 'Normal' | 'Warning'; reason: string; message: string }): void;
}

export interface EventLogOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly timeline: EventTimeline;
  readonly nodeName: string;
  /** Uploads an event on a node of a cluster. It must return immediately. */
  readonly upload?: (key: string, event: Event) => void;
}

/**
 * Records all events of the agent. Events that pass aggregation and the spam filter go to the pod's timeline, to the
 * log, to a list of the last hour for queries, and to the API server.
 */
export class EventLog implements EventRecorder {
  readonly #options: EventLogOptions;
  readonly #correlator = new EventCorrelator();
  readonly #store = new EventStore();
  #serial = 0;

  constructor(options: EventLogOptions) {
    this.#options = options;
  }

  event(pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string, container?: string): void {
    this.#podEvent(pod, { type, reason, message }, container);
  }

  #podEvent(pod: Pod, said: Said, container?: string): void {
    const { log, timeline } = this.#options;
    const { type, reason, message } = said;
    const fields = { pod: `${pod.metadata.namespace}/${pod.metadata.name}`, container, type, reason, message };
    const event = this.#record(podReference(pod, container), said);
    if (event === undefined) return log.debug(4, 'Event dropped, too many events of this pod', fields);
    timeline.record(podUid(pod.metadata.uid ?? ''), { kind: 'event', type, reason, message: event.message ?? '' });
    if (type === 'Warning') log.warn('Event occurred', { ...fields, message: event.message, ...countOf(event) });
    else log.debug(2, 'Event occurred', { ...fields, message: event.message, ...countOf(event) });
  }

  /** Records an event with annotations, which tools read. */
  annotatedEvent(
    pod: Pod,
    said: {
      type: 'Normal' | 'Warning';
      reason: string;
      message: string;
      annotations: Readonly<Record<string, string>>;
    },
  ): void {
    this.#podEvent(pod, said);
  }

  /** Records an event about the node. */
  nodeEvent(type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { log, nodeName } = this.#options;
    const event = this.#record(nodeReference(nodeName), { type, reason, message });
    if (event === undefined) return log.debug(4, 'Node event dropped, too many events', { reason, message });
    if (type === 'Warning') log.warn('Node event occurred', { reason, message: event.message, ...countOf(event) });
    else log.info('Node event occurred', { reason, message: event.message, ...countOf(event) });
  }

  /** Returns the events of the last hour, oldest first. */
  list(): Event[] {
    return this.#store.list(this.#options.clock.nowMs());
  }

  #record(object: ObjectReference, said: Said): Event | undefined {
    const nowMs = this.#options.clock.nowMs();
    const result = this.#correlator.correlate(
      makeEvent(object, said, { nowMs, serial: this.#serial++, component: 'kubelet', host: this.#options.nodeName }),
      nowMs,
    );
    if (result.kind === 'skip') return undefined;
    this.#store.put(result.key, result.event, nowMs);
    this.#options.upload?.(result.key, result.event);
    return result.event;
  }
}

function countOf({ count }: Event): { count?: number } {
  return count === undefined || count <= 1 ? {} : { count };
}
