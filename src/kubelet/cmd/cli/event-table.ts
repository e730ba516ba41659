import type { Event } from '../../../api/core/event.ts';
import { age } from '../../../api/explanation/age.ts';
import { table } from './pod-table.ts';

/** Formats events as `kubectl events` does. */
export function eventTable(events: readonly Event[], nowMs: number): string {
  const rows = events.map((event) => [
    lastSeen(event, nowMs),
    event.type ?? '',
    event.reason ?? '',
    objectName(event),
    (event.message ?? '').trim().replace(/(?<!\s)\s*[\r\n]\s*/g, ' | '),
  ]);
  return table([['LAST SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE'], ...rows]);
}

function lastSeen({ count = 1, firstTimestamp, lastTimestamp }: Event, nowMs: number): string {
  const ago = (time: string | undefined): string => (time === undefined ? '<unknown>' : age(nowMs - Date.parse(time)));
  return count > 1 ? `${ago(lastTimestamp)} (x${count} over ${ago(firstTimestamp)})` : ago(firstTimestamp);
}

function objectName({ involvedObject }: Event): string {
  return `${(involvedObject.kind ?? '').toLowerCase()}/${involvedObject.name ?? ''}`;
}
