import { compare } from '../equality.ts';
import type { Work } from '../work.ts';
import { formatDouble, plainDecimal } from '../numbers.ts';
import { formatDuration, formatTimestamp } from '../time/formats.ts';
import type { CelValue } from '../values.ts';
import {
  CelError,
  CelList,
  CelMap,
  Duration,
  lookupKey,
  Timestamp,
  TypeValue,
  Uint,
  valueTypeName,
} from '../values.ts';

/** The largest precision that an expression may request. */
const PRECISION_LIMIT = 100;
const clause = /%(?:\.(\d{1,6}))?([sdfeboxX%])?/g;

class FormatFault extends Error {}

/** `format` with the clauses %s %d %f %e %b %o %x %X. Each formats the next element of the list. */
export function formatText(text: string, args: CelList, work: Work): string | CelError {
  let next = 0;
  try {
    const made = text.replace(clause, (_whole, precision: string | undefined, verb: string | undefined) => {
      if (verb === '%') return '%';
      if (verb === undefined)
        throw new FormatFault('could not parse formatting clause: unrecognized formatting clause');
      if (next >= args.length) throw new FormatFault(`index ${next} out of range`);
      const value = args.at(next);
      next += 1;
      return formatClause(verb, precision === undefined ? undefined : Number(precision), value, work);
    });
    return made;
  } catch (error) {
    if (error instanceof FormatFault) return new CelError(error.message);
    throw error;
  }
}

function formatClause(verb: string, precision: number | undefined, value: CelValue, work: Work): string {
  if ((precision ?? 0) > PRECISION_LIMIT) throw new FormatFault(`precision must be at most ${PRECISION_LIMIT}`);
  switch (verb) {
    case 's':
      return formatString(value, work);
    case 'd':
      return formatDecimal(value);
    case 'f':
      return formatFixed(value, precision ?? 6);
    case 'e':
      return formatScientific(value, precision ?? 6);
    case 'b':
      if (typeof value === 'boolean') return value ? '1' : '0';
      return inBase(value, 2, 'binary clause can only be used on integers and bools');
    case 'o':
      return inBase(value, 8, 'octal clause can only be used on integers');
    default:
      return formatHex(value, verb === 'X', work);
  }
}

function fault(message: string, value: CelValue): never {
  throw new FormatFault(`error during formatting: ${message}, was given ${valueTypeName(value)}`);
}

function integer(value: CelValue): bigint | undefined {
  if (typeof value === 'bigint') return value;
  return value instanceof Uint ? value.value : undefined;
}

function namedDouble(value: number): string | undefined {
  if (Number.isNaN(value)) return 'NaN';
  return Number.isFinite(value) ? undefined : value > 0 ? 'Infinity' : '-Infinity';
}

function formatDecimal(value: CelValue): string {
  const whole = integer(value);
  if (whole !== undefined) return String(whole);
  const named = typeof value === 'number' ? namedDouble(value) : undefined;
  return named ?? fault('decimal clause can only be used on integers', value);
}

function formatFixed(value: CelValue, precision: number): string {
  const number = typeof value === 'number' ? value : integer(value);
  if (number === undefined) return fault('fixed-point clause can only be used on doubles', value);
  const named = typeof number === 'number' ? namedDouble(number) : undefined;
  if (named !== undefined) return named;
  if (typeof number === 'bigint') return precision === 0 ? String(number) : `${number}.${'0'.repeat(precision)}`;
  return Math.abs(number) < 1e21
    ? roundHalfEven(number, precision)
    : `${plainDecimal(number)}${precision === 0 ? '' : `.${'0'.repeat(precision)}`}`;
}

/** For a number exactly in the middle, Go rounds to the even digit and JavaScript rounds up. */
function roundHalfEven(value: number, precision: number): string {
  const exact = value.toFixed(100);
  const end = exact.indexOf('.') + (precision === 0 ? 0 : 1 + precision);
  const kept = exact.slice(0, end);
  const isMiddle = /^\.?50*$/.test(exact.slice(end));
  return isMiddle && Number(kept.at(-1)) % 2 === 0 ? kept : value.toFixed(precision);
}

function formatScientific(value: CelValue, precision: number): string {
  const number = typeof value === 'number' ? value : integer(value);
  if (number === undefined) return fault('scientific clause can only be used on doubles', value);
  const named = typeof number === 'number' ? namedDouble(number) : undefined;
  if (named !== undefined) return named;
  const [mantissa, exponent] = Number(number).toExponential(precision).split('e') as [string, string];
  return `${mantissa}e${exponent[0]}${exponent.slice(1).padStart(2, '0')}`;
}

function inBase(value: CelValue, base: number, message: string): string {
  return integer(value)?.toString(base) ?? fault(message, value);
}

function formatHex(value: CelValue, isUpper: boolean, work: Work): string {
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value;
  let text: string;
  if (bytes instanceof Uint8Array) {
    work.step(bytes.length);
    text = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  } else text = inBase(value, 16, 'only integers, byte buffers, and strings can be formatted as hex');
  return isUpper ? text.toUpperCase() : text;
}

/** %s accepts every type; maps are sorted by key. */
function formatString(value: CelValue, work: Work): string {
  work.step();
  if (value === null) return 'null';
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return namedDouble(value) ?? formatDouble(value).replace(/^\+/, '');
  if (typeof value !== 'object') return String(value);
  if (value instanceof CelList) {
    const parts: string[] = [];
    for (let index = 0; index < value.length; index += 1) parts.push(formatString(value.at(index), work));
    return `[${parts.join(', ')}]`;
  }
  if (value instanceof CelMap) return formatMap(value, work);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof TypeValue) return value.name;
  return fault(
    'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps',
    value,
  );
}

function formatMap(map: CelMap, work: Work): string {
  const keys = [...map.keys()].sort((left, right) => {
    const order = compare(left, right);
    return typeof order === 'number' ? order : valueTypeName(left) < valueTypeName(right) ? -1 : 1;
  });
  const parts = keys.map((key) => {
    const value = map.get(lookupKey(key) ?? '');
    return `${formatString(key, work)}: ${value === undefined ? '' : formatString(value, work)}`;
  });
  return `{${parts.join(', ')}}`;
}
