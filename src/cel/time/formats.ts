import type { CelResult, Timestamp } from '../values.ts';
import { CelError, Duration } from '../values.ts';
import { checkedDuration, checkedTimestamp } from './limits.ts';

const SECOND_NS = 1_000_000_000n;
const MS_NS = 1_000_000n;

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,18}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** Parses an RFC 3339 time with its zone. */
export function parseTimestamp(text: string): CelResult {
  const match = text.length <= 64 ? rfc3339.exec(text) : null;
  const invalid = new CelError(`invalid timestamp ${JSON.stringify(text.slice(0, 64))}`);
  if (match === null) return invalid;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  const isDay = date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!isDay || hour > 23 || minute > 59 || second > 59) return invalid;
  const fraction = BigInt((match[7] ?? '').slice(0, 9).padEnd(9, '0'));
  const offsetMinutes = Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0);
  const seconds = (hour * 60 + minute - (match[8] === '-' ? -offsetMinutes : offsetMinutes)) * 60 + second;
  return checkedTimestamp(BigInt(date.getTime()) * MS_NS + BigInt(seconds) * SECOND_NS + fraction);
}

/** Milliseconds since 1970, and the remaining nanoseconds. */
export function splitTimestamp({ nanos }: Timestamp): { readonly ms: number; readonly restNanos: number } {
  const rest = ((nanos % MS_NS) + MS_NS) % MS_NS;
  return { ms: Number((nanos - rest) / MS_NS), restNanos: Number(rest) };
}

export function formatTimestamp(time: Timestamp): string {
  const { ms, restNanos } = splitTimestamp(time);
  const text = new Date(ms).toISOString();
  const fraction = withoutZeros(text.slice(-4, -1) + String(restNanos).padStart(6, '0'));
  return `${text.slice(0, -5)}${fraction === '' ? '' : `.${fraction}`}Z`;
}

const unitNanos = new Map<string, bigint>([
  ['ns', 1n],
  ['us', 1000n],
  ['µs', 1000n],
  ['μs', 1000n],
  ['ms', MS_NS],
  ['s', SECOND_NS],
  ['m', 60n * SECOND_NS],
  ['h', 3600n * SECOND_NS],
]);
const durationPart = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y;

/** Formats a duration as Go does: `1h30m`, `-1.5s`. */
export function parseDuration(text: string): CelResult {
  const invalid = new CelError(`invalid duration ${JSON.stringify(text.slice(0, 64))}`);
  if (text.length > 128) return invalid;
  const sign = /^[+-]/.exec(text)?.[0] ?? '';
  const digits = text.slice(sign.length);
  if (digits === '0') return new Duration(0n);
  let nanos = 0n;
  let at = 0;
  while (at < digits.length) {
    durationPart.lastIndex = at;
    const match = durationPart.exec(digits);
    const [whole, fraction] = [match?.[1] ?? '', match?.[2] ?? ''];
    if (match === null || whole + fraction === '') return invalid;
    const unit = unitNanos.get(match[3] as string) as bigint;
    nanos += BigInt(whole) * unit + (BigInt(fraction) * unit) / 10n ** BigInt(fraction.length);
    at = durationPart.lastIndex;
  }
  if (digits === '') return invalid;
  const duration = checkedDuration(sign === '-' ? -nanos : nanos);
  return duration instanceof Duration ? duration : invalid;
}

/** A fraction without trailing zeros. */
function withoutZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}

/** Formats seconds as `string(duration)` does: `90s`, `0.5s`. */
export function formatDuration({ nanos }: Duration): string {
  const size = nanos < 0n ? -nanos : nanos;
  const fraction = withoutZeros(String(size % SECOND_NS).padStart(9, '0'));
  return `${nanos < 0n ? '-' : ''}${size / SECOND_NS}${fraction === '' ? '' : `.${fraction}`}s`;
}
