import type { Overload } from '../environment.ts';
import { memberFunction as member } from '../environment.ts';
import { durationType, intType, stringType, timestampType } from '../types.ts';
import type { Duration, Timestamp } from '../values.ts';
import { CelError } from '../values.ts';
import { splitTimestamp } from './formats.ts';

const DAY_MS = 86_400_000;

/** Reads a field of a date. The date's UTC fields have the values of the time in its zone. */
type Field = (local: Date) => number;

function dayOfYear(local: Date): number {
  const start = new Date(local.getTime());
  start.setUTCMonth(0, 1);
  return Math.round((local.getTime() - start.getTime()) / DAY_MS);
}

const fields: readonly (readonly [name: string, id: string, field: Field])[] = [
  ['getFullYear', 'timestamp_to_year', (local) => local.getUTCFullYear()],
  ['getMonth', 'timestamp_to_month', (local) => local.getUTCMonth()],
  ['getDayOfYear', 'timestamp_to_day_of_year', dayOfYear],
  ['getDayOfMonth', 'timestamp_to_day_of_month', (local) => local.getUTCDate() - 1],
  ['getDate', 'timestamp_to_day_of_month_1_based', (local) => local.getUTCDate()],
  ['getDayOfWeek', 'timestamp_to_day_of_week', (local) => local.getUTCDay()],
  ['getHours', 'timestamp_to_hours', (local) => local.getUTCHours()],
  ['getMinutes', 'timestamp_to_minutes', (local) => local.getUTCMinutes()],
  ['getSeconds', 'timestamp_to_seconds', (local) => local.getUTCSeconds()],
  ['getMilliseconds', 'timestamp_to_milliseconds', (local) => local.getUTCMilliseconds()],
];

const durationFields: readonly (readonly [name: string, id: string, unitNs: bigint])[] = [
  ['getHours', 'duration_to_hours', 3_600_000_000_000n],
  ['getMinutes', 'duration_to_minutes', 60_000_000_000n],
  ['getSeconds', 'duration_to_seconds', 1_000_000_000n],
];

/** `getFullYear` and similar functions, for UTC and for a named zone, and those of durations. */
export function timeFunctions(): Readonly<Record<string, readonly Overload[]>> {
  const table: Record<string, Overload[]> = Object.create(null) as Record<string, Overload[]>;
  for (const [name, id, field] of fields) {
    table[name] = [
      member(id, [timestampType], intType, (time: Timestamp) => BigInt(field(new Date(splitTimestamp(time).ms)))),
      member(`${id}_with_tz`, [timestampType, stringType], intType, (time: Timestamp, zone: string) => {
        const local = localDate(time, zone);
        return local instanceof CelError ? local : BigInt(field(local));
      }),
    ];
  }
  for (const [name, id, unitNs] of durationFields)
    table[name]?.push(member(id, [durationType], intType, ({ nanos }: Duration) => nanos / unitNs));
  table['getMilliseconds']?.push(
    member('duration_to_milliseconds', [durationType], intType, ({ nanos }: Duration) => (nanos / 1_000_000n) % 1000n),
  );
  return table;
}

const fixedZone = /^([+-]?)(\d\d):(\d\d)$/;

function localDate(time: Timestamp, zone: string): Date | CelError {
  const { ms } = splitTimestamp(time);
  const fixed = fixedZone.exec(zone);
  if (fixed !== null) {
    const minutes = Number(fixed[2]) * 60 + Number(fixed[3]);
    return new Date(ms + (fixed[1] === '-' ? -minutes : minutes) * 60_000);
  }
  if (zone === 'UTC' || zone === '') return new Date(ms);
  return namedZone(ms, zone);
}

function namedZone(ms: number, zone: string): Date | CelError {
  const unknown = new CelError(`unknown time zone ${zone.slice(0, 64)}`);
  if (zone.length > 64 || !/^[A-Za-z]/.test(zone)) return unknown;
  try {
    const numeric = {
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    } as const;
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'iso8601',
      hourCycle: 'h23',
      era: 'short',
      ...numeric,
    });
    const parts = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
    const local = new Date(0);
    local.setUTCFullYear(part('year'), part('month') - 1, part('day'));
    local.setUTCHours(part('hour'), part('minute'), part('second'), ((ms % 1000) + 1000) % 1000);
    return local;
  } catch {
    return unknown;
  }
}
