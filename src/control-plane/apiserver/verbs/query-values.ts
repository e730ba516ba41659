import { badRequest } from '../../../api/status/api-status-error.ts';
import { goQuote } from '../../../api/go-quote.ts';

/**
 * `false` and `0` are false; every other value is true, also an empty one (`?watch`). Undefined if the parameter is
 * absent.
 */
export function booleanOf(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  return value === null ? undefined : value !== '0' && value.toLowerCase() !== 'false';
}

/** An integer of 64 bits (beyond 2^53 the nearest number); otherwise 400 with Go's message. */
export function integerOf(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  if (!/^[+-]?\d+$/.test(value)) throw badRequest(`strconv.ParseInt: parsing ${goQuote(value)}: invalid syntax`);
  const whole = BigInt(value.replace(/^\+/, ''));
  if (whole > 2n ** 63n - 1n || whole < -(2n ** 63n))
    throw badRequest(`strconv.ParseInt: parsing ${goQuote(value)}: value out of range`);
  return Number(whole);
}
