import type { Logger } from '../../../base/log.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { podUid, type PodUid } from '../../model/ids.ts';
import type { EventRecorder } from '../../ports/recorder.ts';

/** The pod's record, as far as events are concerned. */
export interface EventTimeline {
  record(uid: PodUid, entry: { kind: 'event'; type: 'Normal' | 'Warning'; reason: string; message: string }): void;
}

/** Events of a standalone node: into the pod's timeline and the log. The API server's events join here as a third reader. */
export function createEventRecorder(timeline: EventTimeline, log: Logger): EventRecorder {
  return {
    event(pod: Pod, type, reason, message, container) {
      timeline.record(podUid(pod.metadata.uid ?? ''), { kind: 'event', type, reason, message });
      const fields = { pod: `${pod.metadata.namespace}/${pod.metadata.name}`, container, type, reason, message };
      if (type === 'Warning') log.warn('Event occurred', fields);
      else log.debug(2, 'Event occurred', fields);
    },
  };
}

/** Events about the node itself; without an API server the log is where they go. */
export function createNodeEvents(log: Logger): { nodeEvent(type: 'Normal' | 'Warning', reason: string, message: string): void } {
  return {
    nodeEvent(type, reason, message) {
      if (type === 'Warning') log.warn('Node event occurred', { reason, message });
      else log.info('Node event occurred', { reason, message });
    },
  };
}
