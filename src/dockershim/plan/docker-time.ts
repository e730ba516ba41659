const NANOS_PER_MS = 1_000_000n;

/**
 * Nanoseconds since the Unix epoch of Docker's time stamps (RFC 3339 with up to nine digits of fraction); 0 for one that
 * cannot be read, and for Docker's zero time `0001-01-01T00:00:00Z`, which means "never".
 */
export function parseNanos(text: string | undefined): bigint {
  const match = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z|[+-]\d{2}:\d{2})$/.exec(text ?? '');
  if (match === null) return 0n;
  const [, second = '', fraction = '', zone = ''] = match;
  const ms = Date.parse(second + zone);
  return Number.isNaN(ms) || ms <= 0 ? 0n : BigInt(ms) * NANOS_PER_MS + BigInt(fraction.padEnd(9, '0'));
}

export const nanosOf = (ms: number): bigint => BigInt(Math.round(ms)) * NANOS_PER_MS;

/** Docker's notation of a moment in queries: seconds, a point, nine digits. */
export function dockerSince(nanos: bigint): string {
  const perSecond = 1_000_000_000n;
  return `${nanos / perSecond}.${String(nanos % perSecond).padStart(9, '0')}`;
}
