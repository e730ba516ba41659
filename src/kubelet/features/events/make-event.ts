import type { Event } from '../../../api/core/event.ts';
import type { ObjectReference } from '../../../api/core/meta.ts';
import type { Pod } from '../../../api/core/pod.ts';

const EVENT_COMPONENT = 'kubelet';
const NANOS_PER_MS = 1_000_000;

export interface Said {
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
}

/** The event as it is first said (upstream: client-go tools/record makeEvent). `serial` tells apart what is said within one millisecond. */
export function makeEvent(object: ObjectReference, { type, reason, message }: Said, at: { nowMs: number; serial: number; nodeName: string }): Event {
  const time = new Date(Math.floor(at.nowMs / 1000) * 1000).toISOString().replace('.000Z', 'Z');
  const nanos = BigInt(Math.floor(at.nowMs)) * BigInt(NANOS_PER_MS) + BigInt(at.serial % NANOS_PER_MS);
  return {
    metadata: { name: `${object.name}.${nanos.toString(16)}`, namespace: object.namespace === undefined || object.namespace === '' ? 'default' : object.namespace },
    involvedObject: object,
    reason,
    message,
    source: { component: EVENT_COMPONENT, host: at.nodeName },
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
    type,
    reportingComponent: EVENT_COMPONENT,
    reportingInstance: at.nodeName,
  } as Event;
}

/** A pod, or one of its containers (upstream: container/ref.go GenerateContainerRef). */
export function podReference(pod: Pod, container: string | undefined): ObjectReference {
  const { namespace, name, uid, resourceVersion } = pod.metadata;
  const reference: ObjectReference = { kind: 'Pod', namespace, name, uid, apiVersion: 'v1' };
  if (resourceVersion !== undefined) reference.resourceVersion = resourceVersion;
  if (container !== undefined) reference.fieldPath = fieldPath(pod, container);
  return reference;
}

function fieldPath({ spec }: Pod, name: string): string {
  const has = (containers: readonly { name: string }[] | undefined): boolean => containers?.some((each) => each.name === name) === true;
  if (has(spec.containers)) return `spec.containers{${name}}`;
  if (has(spec.initContainers)) return `spec.initContainers{${name}}`;
  if (has(spec.ephemeralContainers)) return `spec.ephemeralContainers{${name}}`;
  return `implicitly required container ${name}`;
}

/** Upstream takes the node's name for its uid, too. */
export function nodeReference(nodeName: string): ObjectReference {
  return { kind: 'Node', name: nodeName, uid: nodeName };
}
