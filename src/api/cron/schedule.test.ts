import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { parseSchedule } from './parse-schedule.ts';
import type { Schedule } from './parse-schedule.ts';
import { lastTime, nextTime } from './schedule-times.ts';
import { formatZonedTime, isTimeZone, zoneOffsetMs } from './time-zone.ts';

const MINUTE_MS = 60_000;

function parsed(text: string): Schedule {
  const { schedule, error } = parseSchedule(text);
  if (schedule === undefined) throw new Error(error);
  return schedule;
}

const next = (text: string, after: string, zone = 'UTC'): string | undefined => {
  const ms = nextTime(parsed(text), zone, Date.parse(after));
  return ms === undefined ? undefined : new Date(ms).toISOString();
};

test('the next time follows from minute, hour, day, month and weekday', () => {
  const cases: readonly [string, string, string | undefined][] = [
    ['* * * * *', '2026-01-01T12:00:00Z', '2026-01-01T12:01:00.000Z'],
    ['*/15 * * * *', '2026-01-01T12:46:00Z', '2026-01-01T13:00:00.000Z'],
    ['30 6-16/4 * * 1-5', '2026-01-02T14:30:00Z', '2026-01-05T06:30:00.000Z'],
    ['0 0 29 feb ?', '2026-01-01T00:00:00Z', '2028-02-29T00:00:00.000Z'],
    // When both fields are given, either day matches; when the day is `*`, only the weekday matters.
    ['0 0 13 * fri', '2026-01-01T00:00:00Z', '2026-01-02T00:00:00.000Z'],
    ['0 0 * * FRI', '2026-01-02T00:00:00Z', '2026-01-09T00:00:00.000Z'],
    ['5/20 * * * *', '2026-01-01T00:30:00Z', '2026-01-01T00:45:00.000Z'],
    ['@monthly', '2026-01-01T00:00:00Z', '2026-02-01T00:00:00.000Z'],
    ['@every 90s', '2026-01-01T00:00:00.5Z', '2026-01-01T00:01:30.000Z'],
    ['59 23 31 2 *', '2026-01-01T00:00:00Z', undefined],
  ];
  for (const [text, after, expected] of cases) assert.equal(next(text, after), expected, text);
});

test('clock changes leave out the times they skip, and repeat those they repeat', () => {
  const berlin = 'Europe/Berlin';
  assert.equal(next('30 2 * * *', '2026-03-28T12:00:00Z', berlin), '2026-03-30T00:30:00.000Z');
  assert.equal(next('30 2 * * *', '2026-10-24T12:00:00Z', berlin), '2026-10-25T00:30:00.000Z');
  assert.equal(next('30 2 * * *', '2026-10-25T00:30:00Z', berlin), '2026-10-25T01:30:00.000Z');
  assert.equal(next('0 9 * * *', '2026-07-01T00:00:00Z', 'Asia/Kolkata'), '2026-07-01T03:30:00.000Z');
  assert.equal(next('TZ=Asia/Kolkata 0 9 * * *', '2026-07-01T00:00:00Z', berlin), '2026-07-01T03:30:00.000Z');
  assert.equal(formatZonedTime(berlin, Date.parse('2026-07-01T10:00:00Z')), '2026-07-01T12:00:00+02:00');
  assert.equal(formatZonedTime('UTC', Date.parse('2026-07-01T10:00:00Z')), '2026-07-01T10:00:00Z');
  assert.deepEqual(['Europe/Berlin', 'UTC', '+01', 'Nowhere/Land', ''].map(isTimeZone), [
    true,
    true,
    false,
    false,
    false,
  ]);
});

test('an invalid schedule gets upstream’s error message', () => {
  const cases: readonly [string, string][] = [
    ['', 'empty spec string'],
    ['* * *', 'expected exactly 5 fields, found 3: [* * *]'],
    ['60 * * * *', 'end of range (60) above maximum (59): 60'],
    ['* * 0 * *', 'beginning of range (0) below minimum (1): 0'],
    ['5-1 * * * *', 'beginning of range (5) beyond end of range (1): 5-1'],
    ['*/0 * * * *', 'step of range should be a positive number: */0'],
    ['1-2-3 * * * *', 'too many hyphens: 1-2-3'],
    ['*/1/2 * * * *', 'too many slashes: */1/2'],
    ['x * * * *', 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
    ['@never', 'unrecognized descriptor: @never'],
    ['@every soon', 'failed to parse duration @every soon: time: invalid duration "soon"'],
    ['TZ=Nowhere * * * * *', 'provided bad location Nowhere: unknown time zone Nowhere'],
  ];
  for (const [text, expected] of cases) assert.equal(parseSchedule(text).error, expected, text);
  assert.match(parseSchedule('TZ=0').error ?? '', /^invalid schedule format/);
  assert.match(parseSchedule('0-58,'.repeat(100_000)).error ?? '', /may not be longer/);
});

test('the next and the last time are those that a walk over every minute finds', () => {
  const field = (min: number, max: number): fc.Arbitrary<string> =>
    fc.oneof(
      fc.constant('*'),
      fc.integer({ min, max }).map(String),
      fc.integer({ min: 2, max: 9 }).map((step) => `*/${step}`),
    );
  const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/Sao_Paulo', 'Australia/Lord_Howe', 'Asia/Kathmandu');
  // Around the clock changes of 2026.
  const starts = fc.constantFrom('2026-03-27', '2026-10-23', '2026-04-03', '2026-10-02', '2026-06-01');
  fc.assert(
    fc.property(
      fc.tuple(field(0, 59), field(0, 23), field(0, 6)),
      zones,
      starts,
      fc.nat(3 * 24 * 60),
      ([minute, hour, weekday], zone, start, offset) => {
        const schedule = parsed(`${minute} ${hour} * * ${weekday}`);
        if (schedule.kind !== 'calendar') return;
        const fromMs = Date.parse(`${start}T00:00:00Z`) + offset * MINUTE_MS;
        const matches = (ms: number): boolean => {
          const local = new Date(ms + zoneOffsetMs(zone, ms));
          return (
            schedule.minutes.has(local.getUTCMinutes()) &&
            schedule.hours.has(local.getUTCHours()) &&
            schedule.daysOfWeek.has(local.getUTCDay())
          );
        };
        const found = nextTime(schedule, zone, fromMs);
        const limitMs = fromMs + 2 * 24 * 60 * MINUTE_MS;
        let walked = fromMs + MINUTE_MS;
        while (walked < limitMs && !matches(walked)) walked += MINUTE_MS;
        if (walked < limitMs) {
          assert.equal(found, walked);
          assert.equal(lastTime(schedule, zone, walked), walked);
          assert.ok((lastTime(schedule, zone, walked - MINUTE_MS) ?? 0) <= fromMs);
        } else assert.ok((found ?? Infinity) >= limitMs);
      },
    ),
    { numRuns: 60 },
  );
});
