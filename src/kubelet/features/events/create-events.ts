import type { ApiClient } from '../../../api/client/api-client.ts';
import type { Random } from '../../../base/random.ts';
import type { EventLogOptions } from './event-recorder.ts';
import { EventLog } from './event-recorder.ts';
import { EventUploader } from './event-uploader.ts';

export interface CreateEventsParts extends Omit<EventLogOptions, 'upload'> {
  /** The API client; undefined on a standalone node, whose events are not uploaded. */
  readonly client: ApiClient | undefined;
  readonly random: Random;
}

/** Creates the event recorder of this agent, and its uploader if there is an API server. */
export function createEvents({ client, random, ...options }: CreateEventsParts): {
  recorder: EventLog;
  eventUploader: EventUploader | undefined;
} {
  if (client === undefined) return { recorder: new EventLog(options), eventUploader: undefined };
  const { clock, log } = options;
  const eventUploader = new EventUploader({ client, clock, random, log });
  const recorder = new EventLog({ ...options, upload: (key, event) => eventUploader.put(key, event) });
  return { recorder, eventUploader };
}
