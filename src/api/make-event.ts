import { fnv32a } from '../base/fnv32a.ts';
import type { Event } from './core/event.ts';
import type { ObjectReference } from './core/meta.ts';
import { formatTime } from './time.ts';

const NANOS_PER_MS = 1_000_000;

export interface Said {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  readonly annotations?: Readonly<Record<string, string>>;
  /** What the component did or tried; absent for most. */
  readonly action?: string;
}

export interface EventOrigin {
  /** Wall milliseconds. */
  readonly nowMs: number;
  /** A number that is unique among the events of this component within one millisecond. */
  readonly serial: number;
  readonly component: string;
  /** The node; '' for a component that does not run on a node. */
  readonly host: string;
}

/** A new event (upstream: client-go tools/record makeEvent). */
export function makeEvent(
  object: ObjectReference,
  { type, reason, message, annotations, action }: Said,
  { nowMs, serial, component, host }: EventOrigin,
): Event {
  const time = formatTime(nowMs);
  // Each component counts separately. Without a different start value, the first events of two components in the same
  // millisecond would have the same name, and the API server would reject one of them.
  const withinMs = (fnv32a(`${component}/${host}`) + serial) % NANOS_PER_MS;
  const nanos = BigInt(Math.floor(nowMs)) * BigInt(NANOS_PER_MS) + BigInt(withinMs);
  return {
    metadata: {
      name: `${object.name}.${nanos.toString(16)}`,
      namespace: object.namespace === undefined || object.namespace === '' ? 'default' : object.namespace,
      ...(annotations !== undefined && { annotations: { ...annotations } }),
    },
    involvedObject: object,
    reason,
    message,
    source: { component, ...(host !== '' && { host }) },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
    type,
    ...(action !== undefined && { action }),
    reportingComponent: component,
    reportingInstance: host,
  } as Event;
}
