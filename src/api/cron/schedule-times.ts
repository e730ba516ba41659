import type { Schedule } from './parse-schedule.ts';
import { zoneOffsetMs } from './time-zone.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** A date that does not occur within five years is treated as impossible, like 30 February. */
const MOST_DAYS = 5 * 366;

type Calendar = Extract<Schedule, { kind: 'calendar' }>;

/**
 * The first time after `afterMs`, in milliseconds since 1970; undefined if there is none. If a clock change skips a
 * local time, it does not occur that day; if a clock change repeats it, it occurs twice (upstream: SpecSchedule.Next).
 */
export function nextTime(schedule: Schedule, zone: string, afterMs: number): number | undefined {
  if (schedule.kind === 'every') return Math.floor(afterMs / SECOND_MS) * SECOND_MS + schedule.periodMs;
  return findDay(schedule, zone, afterMs, 1, (times) => times.find((ms) => ms > afterMs));
}

/** The last time of a schedule at or before `untilMs`; undefined if there was none within five years. */
export function lastTime(schedule: Calendar, zone: string, untilMs: number): number | undefined {
  return findDay(schedule, zone, untilMs, -1, (times) => times.findLast((ms) => ms <= untilMs));
}

function findDay(
  schedule: Calendar,
  defaultZone: string,
  fromMs: number,
  direction: 1 | -1,
  pick: (times: readonly number[]) => number | undefined,
): number | undefined {
  const zone = schedule.zone ?? defaultZone;
  const today = Math.floor((fromMs + zoneOffsetMs(zone, fromMs)) / DAY_MS);
  for (let days = 0; days <= MOST_DAYS; days++) {
    const day = today + direction * days;
    const found = hasDay(schedule, day) ? pick(timesOfDay(schedule, zone, day)) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

/** `day` counts local days since 1970. */
function hasDay({ months, daysOfMonth, daysOfWeek, bothDays }: Calendar, day: number): boolean {
  const date = new Date(day * DAY_MS);
  if (!months.has(date.getUTCMonth() + 1)) return false;
  const inMonth = daysOfMonth.has(date.getUTCDate());
  const inWeek = daysOfWeek.has(date.getUTCDay());
  return bothDays ? inMonth && inWeek : inMonth || inWeek;
}

/** All times of a local day, in order. */
function timesOfDay({ hours, minutes }: Calendar, zone: string, day: number): number[] {
  const startMs = day * DAY_MS;
  const local: number[] = [];
  for (const hour of hours) for (const minute of minutes) local.push(startMs + (hour * 60 + minute) * MINUTE_MS);
  // Local times of the day lie between these two, in every zone.
  const before = zoneOffsetMs(zone, startMs - DAY_MS);
  const after = zoneOffsetMs(zone, startMs + 2 * DAY_MS);
  if (before === after) return local.map((ms) => ms - before).sort((left, right) => left - right);
  const changeMs = findChange(zone, startMs - DAY_MS, startMs + 2 * DAY_MS, before);
  const times = [
    ...local.map((ms) => ms - before).filter((ms) => ms < changeMs),
    ...local.map((ms) => ms - after).filter((ms) => ms >= changeMs),
  ];
  return times.sort((left, right) => left - right);
}

/** The first minute in which the zone's offset differs from `before`. */
function findChange(zone: string, fromMs: number, toMs: number, before: number): number {
  let low = fromMs / MINUTE_MS;
  let high = toMs / MINUTE_MS;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (zoneOffsetMs(zone, middle * MINUTE_MS) === before) low = middle;
    else high = middle;
  }
  return high * MINUTE_MS;
}
