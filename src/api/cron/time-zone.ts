import { memoizeText } from '../../base/memoize-text.ts';

const MOST_ZONES = 1_000;
const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;

/** Formatters are kept because creating one is slow. */
const formatterOf = memoizeText(
  (zone) =>
    new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    }),
  { limit: MOST_ZONES },
);

/** Whether the IANA database has a zone with this name. Offsets such as `+01` are not names. */
export function isTimeZone(zone: string): boolean {
  if (!/^[A-Za-z]/.test(zone)) return false;
  try {
    return formatterOf(zone) !== undefined;
  } catch {
    return false;
  }
}

/** Local time minus UTC at `ms`, in milliseconds. Throws `RangeError` for an unknown zone. */
export function zoneOffsetMs(zone: string, ms: number): number {
  if (zone === 'UTC') return 0;
  const parts = new Map<string, number>();
  for (const { type, value } of formatterOf(zone).formatToParts(ms)) parts.set(type, Number(value));
  const part = (name: string): number => parts.get(name) ?? 0;
  const local = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
  return local - Math.floor(ms / SECOND_MS) * SECOND_MS;
}

/** Formats a time in RFC 3339 in local time: `2026-01-01T12:00:00+01:00`, with `Z` if local time is UTC. */
export function formatZonedTime(zone: string, ms: number): string {
  const offsetMs = zoneOffsetMs(zone, ms);
  const local = new Date(ms + offsetMs).toISOString().slice(0, 19);
  if (offsetMs === 0) return `${local}Z`;
  const minutes = Math.floor(Math.abs(offsetMs) / MINUTE_MS);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `${local}${offsetMs < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
