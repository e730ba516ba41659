import { EventLog } from '../../features/events/event-recorder.ts';
import { EventUploader } from '../../features/events/event-uploader.ts';
import type { Knowledge } from './compose-context.ts';
import type { Records } from './compose-records.ts';
import type { World } from './world.ts';

/** What happened, for whoever asks this agent, and on a node of a cluster for whoever asks the API server. */
export function composeEvents(
  { cluster, clock, random, log, machine }: World,
  { timeline }: Pick<Records, 'timeline'>,
): Pick<Knowledge, 'recorder' | 'eventUploader'> {
  const eventUploader =
    cluster === undefined ? undefined : new EventUploader({ client: cluster.events, clock, random, log });
  const upload = eventUploader === undefined ? {} : { upload: eventUploader.put.bind(eventUploader) };
  return { eventUploader, recorder: new EventLog({ clock, log, timeline, nodeName: machine.nodeName, ...upload }) };
}
