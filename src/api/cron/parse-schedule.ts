import { parseDurationMs } from '../duration.ts';
import { goQuote } from '../go-quote.ts';
import { isTimeZone } from './time-zone.ts';

/** A parsed schedule (upstream: robfig/cron ParseStandard). */
export type Schedule =
  | { readonly kind: 'every'; readonly periodMs: number }
  | {
      readonly kind: 'calendar';
      readonly minutes: ReadonlySet<number>;
      readonly hours: ReadonlySet<number>;
      readonly daysOfMonth: ReadonlySet<number>;
      readonly months: ReadonlySet<number>;
      readonly daysOfWeek: ReadonlySet<number>;
      /** One of the two day fields is `*`: a day must match both fields. Otherwise it must match one of them. */
      readonly bothDays: boolean;
      /** From `TZ=` in the text. */
      readonly zone?: string;
    };

export type ParsedSchedule =
  | { readonly schedule: Schedule; readonly error?: undefined }
  /** The error in upstream's words. */
  | { readonly schedule?: undefined; readonly error: string };

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: ReadonlyMap<string, number>;
}

const named = (first: number, names: string): ReadonlyMap<string, number> =>
  new Map(names.split(' ').map((name, index) => [name, first + index]));
const minuteBounds: Bounds = { min: 0, max: 59 };
const hourBounds: Bounds = { min: 0, max: 23 };
const dayBounds: Bounds = { min: 1, max: 31 };
const monthBounds: Bounds = { min: 1, max: 12, names: named(1, 'jan feb mar apr may jun jul aug sep oct nov dec') };
const weekdayBounds: Bounds = { min: 0, max: 6, names: named(0, 'sun mon tue wed thu fri sat') };

const descriptors: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
]);
const EVERY = '@every ';
const SECOND_MS = 1_000;
/** Our limit: each range costs one step for each of its values. */
const LONGEST_TEXT = 10_000;

class ScheduleError extends Error {}

/** Never throws. */
export function parseSchedule(text: string): ParsedSchedule {
  try {
    return { schedule: parse(text) };
  } catch (error) {
    if (error instanceof ScheduleError) return { error: error.message };
    throw error;
  }
}

function parse(text: string): Schedule {
  if (text === '') throw new ScheduleError('empty spec string');
  if (text.length > LONGEST_TEXT) throw new ScheduleError(`may not be longer than ${LONGEST_TEXT} characters`);
  const prefixed = /^(?:CRON_)?TZ=([^ ]*)( .*)?$/s.exec(text);
  if (prefixed === null) return parseSpec(text);
  const [, zone = '', rest] = prefixed;
  if (rest === undefined)
    throw new ScheduleError('invalid schedule format: runtime error: slice bounds out of range [:-1]');
  if (!isTimeZone(zone)) throw new ScheduleError(`provided bad location ${zone}: unknown time zone ${zone}`);
  const schedule = parseSpec(rest.trim());
  return schedule.kind === 'calendar' ? { ...schedule, zone } : schedule;
}

function parseSpec(spec: string): Schedule {
  if (spec.startsWith(EVERY)) return parseEvery(spec);
  if (spec.startsWith('@') && !descriptors.has(spec)) throw new ScheduleError(`unrecognized descriptor: ${spec}`);
  const fields = (descriptors.get(spec) ?? spec).split(/\s+/).filter((field) => field !== '');
  const [minute, hour, day, month, weekday] = fields;
  if (
    fields.length !== 5 ||
    minute === undefined ||
    hour === undefined ||
    day === undefined ||
    month === undefined ||
    weekday === undefined
  )
    throw new ScheduleError(`expected exactly 5 fields, found ${fields.length}: [${fields.join(' ')}]`);
  const minutes = parseField(minute, minuteBounds);
  const hours = parseField(hour, hourBounds);
  const days = parseField(day, dayBounds);
  const months = parseField(month, monthBounds);
  const weekdays = parseField(weekday, weekdayBounds);
  return {
    kind: 'calendar',
    minutes: minutes.values,
    hours: hours.values,
    daysOfMonth: days.values,
    months: months.values,
    daysOfWeek: weekdays.values,
    bothDays: days.isAny || weekdays.isAny,
  };
}

/** At least one second; fractions of a second are dropped. */
function parseEvery(spec: string): Schedule {
  const text = spec.slice(EVERY.length);
  const periodMs = parseDurationMs(text);
  if (periodMs === undefined)
    throw new ScheduleError(`failed to parse duration ${spec}: time: invalid duration ${goQuote(text)}`);
  return { kind: 'every', periodMs: Math.max(1, Math.floor(periodMs / SECOND_MS)) * SECOND_MS };
}

interface FieldValues {
  readonly values: ReadonlySet<number>;
  readonly isAny: boolean;
}

function parseField(field: string, bounds: Bounds): FieldValues {
  const values = new Set<number>();
  let isAny = false;
  for (const range of field.split(',')) {
    if (range === '') continue;
    if (parseRange(range, bounds, values)) isAny = true;
  }
  return { values, isAny };
}

/** Adds the values of the range. Returns whether these are all possible values. */
function parseRange(range: string, { min, max, names }: Bounds, values: Set<number>): boolean {
  const [span = '', stepText, ...moreSteps] = range.split('/');
  const [lowText = '', highText, ...moreBounds] = span.split('-');
  const isAny = lowText === '*' || lowText === '?';
  let low = min;
  let high = max;
  if (!isAny) {
    low = parseValue(lowText, names);
    if (moreBounds.length > 0) throw new ScheduleError(`too many hyphens: ${range}`);
    high = highText === undefined ? low : parseValue(highText, names);
  }
  if (moreSteps.length > 0) throw new ScheduleError(`too many slashes: ${range}`);
  const step = stepText === undefined ? 1 : parseInteger(stepText);
  // A number with a step starts a range that extends to the end.
  if (stepText !== undefined && highText === undefined) high = max;
  if (low < min) throw new ScheduleError(`beginning of range (${low}) below minimum (${min}): ${range}`);
  if (high > max) throw new ScheduleError(`end of range (${high}) above maximum (${max}): ${range}`);
  if (low > high) throw new ScheduleError(`beginning of range (${low}) beyond end of range (${high}): ${range}`);
  if (step === 0) throw new ScheduleError(`step of range should be a positive number: ${range}`);
  for (let value = low; value <= high; value += step) values.add(value);
  return isAny && step === 1;
}

function parseValue(text: string, names: Bounds['names']): number {
  return names?.get(text.toLowerCase()) ?? parseInteger(text);
}

function parseInteger(text: string): number {
  const failed = (why: string): ScheduleError =>
    new ScheduleError(`failed to parse int from ${text}: strconv.Atoi: parsing ${goQuote(text)}: ${why}`);
  if (!/^[+-]?[0-9]+$/.test(text)) throw failed('invalid syntax');
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw failed('value out of range');
  if (value < 0) throw new ScheduleError(`negative number (${value}) not allowed: ${text}`);
  return value;
}
