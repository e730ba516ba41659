import type { Pod } from '../../api/core/pod.ts';

/**
 * Records what happened to a pod, in upstream's words: as an event in the API, a line of the pod's timeline, and a line
 * of the log. `container` is the name of the container concerned, which becomes the event's fieldPath.
 */
export interface EventRecorder {
  event(pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string, container?: string): void;
}

/** Records events about the node. */
export interface NodeEventRecorder {
  nodeEvent(type: 'Normal' | 'Warning', reason: string, message: string): void;
}
