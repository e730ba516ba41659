/**
 * Formats a time as the API does: RFC 3339, in UTC, without fractions (meta/v1 Time). Times are wall time in
 * milliseconds since 1970.
 */
export function formatTime(ms: number): string {
  return `${new Date(Math.floor(ms / 1000) * 1000).toISOString().slice(0, 19)}Z`;
}

/** Like `formatTime`, with the six decimals of a MicroTime (the last three are 0), as in leases and audit events. */
export function formatMicroTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, -1)}000Z`;
}

/** Undefined for a missing or invalid time. */
export function parseTime(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}
