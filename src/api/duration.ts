import { lookupTable } from '../base/lookup.ts';

/** Go durations, as in KubeletConfiguration and some annotations: `300ms`, `1h2m3.5s`, `-1.5h`. */
const unitNanos: Readonly<Record<string, bigint>> = lookupTable({
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
});
const MAX_NANOS = 2n ** 63n - 1n;
const part = /([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)/y;

/**
 * Nanoseconds, or undefined for a text that Go's `time.ParseDuration` rejects (a number without a unit, an overflow).
 */
export function parseDurationNanos(text: string): bigint | undefined {
  if (text.length > 128) return undefined;
  const negative = text.startsWith('-');
  const body = negative || text.startsWith('+') ? text.slice(1) : text;
  if (body === '0') return 0n;
  if (body === '') return undefined;
  let total = 0n;
  part.lastIndex = 0;
  while (part.lastIndex < body.length) {
    const match = part.exec(body);
    if (match === null) return undefined;
    const [, whole = '', fraction = '', unit = ''] = match;
    if (whole.length + fraction.length === 0) return undefined;
    const scale = unitNanos[unit] ?? 0n;
    total += BigInt(whole === '' ? 0 : whole) * scale;
    if (fraction !== '') total += (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length);
    if (total > MAX_NANOS + 1n) return undefined;
  }
  if (total > MAX_NANOS && !negative) return undefined;
  return negative ? -total : total;
}

/** Milliseconds with fractions, or undefined for a text that is not a Go duration. */
export function parseDurationMs(text: string): number | undefined {
  const nanos = parseDurationNanos(text);
  return nanos === undefined ? undefined : Number(nanos) / 1e6;
}

/** Formats a duration as Go's `Duration.String`: `1h0m0s`, `1m30s`, `1.5s`, `250ms`, `0s`. */
export function formatDurationNanos(nanos: bigint): string {
  if (nanos === 0n) return '0s';
  const sign = nanos < 0n ? '-' : '';
  const amount = nanos < 0n ? -nanos : nanos;
  if (amount < 1_000_000_000n) return sign + belowSecond(amount);
  const seconds = amount / 1_000_000_000n;
  const hours = seconds / 3600n;
  const minutes = (seconds / 60n) % 60n;
  const rest = `${decimal(amount % 60_000_000_000n, 1_000_000_000n)}s`;
  if (hours > 0n) return `${sign}${hours}h${minutes}m${rest}`;
  return minutes > 0n ? `${sign}${minutes}m${rest}` : sign + rest;
}

export function formatDurationMs(ms: number): string {
  return formatDurationNanos(BigInt(Math.round(ms * 1e6)));
}

function belowSecond(nanos: bigint): string {
  if (nanos < 1_000n) return `${nanos}ns`;
  return nanos < 1_000_000n ? `${decimal(nanos, 1_000n)}µs` : `${decimal(nanos, 1_000_000n)}ms`;
}

function decimal(nanos: bigint, unit: bigint): string {
  const fraction = (nanos % unit)
    .toString()
    .padStart(unit.toString().length - 1, '0')
    .replace(/(?<!0)0+$/, '');
  return fraction === '' ? `${nanos / unit}` : `${nanos / unit}.${fraction}`;
}
