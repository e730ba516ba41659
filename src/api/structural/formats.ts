import { parseIp } from '../../base/ip-address.ts';
import { parseDurationNanos } from '../duration.ts';
import { checkDnsLabel, checkDnsSubdomain } from '../validation/names.ts';

const expression =
  (pattern: RegExp) =>
  (text: string): boolean =>
    pattern.test(text);
const HEX = '[0-9a-fA-F]';
/** A UUID of one version; hyphens may be left out (upstream: strfmt default.go). */
const uuid = (third: string, fourth: string): ((text: string) => boolean) =>
  expression(new RegExp(`^${HEX}{8}-?${HEX}{4}-?${third}-?${fourth}-?${HEX}{12}$`));

/** All patterns are linear: none has nested repetitions. */
const formats: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['bsonobjectid', expression(/^[0-9a-fA-F]{24}$/)],
  ['uri', isUri],
  ['email', isEmail],
  ['hostname', isHostname],
  ['ipv4', (text) => parseIp(text)?.length === 4],
  ['ipv6', (text) => parseIp(text)?.length === 16],
  ['cidr', isCidr],
  [
    'mac',
    expression(/^(?:[0-9a-fA-F]{2}([:-])(?:[0-9a-fA-F]{2}\1){4}[0-9a-fA-F]{2}|(?:[0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4})$/),
  ],
  ['uuid', uuid(`${HEX}{4}`, `${HEX}{4}`)],
  ['uuid3', uuid(`3${HEX}{3}`, `${HEX}{4}`)],
  ['uuid4', uuid(`4${HEX}{3}`, `[89abAB]${HEX}{3}`)],
  ['uuid5', uuid(`5${HEX}{3}`, `[89abAB]${HEX}{3}`)],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCreditCard],
  ['ssn', expression(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/)],
  ['hexcolor', expression(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  ['rgbcolor', isRgbColor],
  ['byte', expression(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/)],
  ['date', isDate],
  ['duration', isDuration],
  ['datetime', isDateTime],
  ['k8sshortname', (text) => checkDnsLabel(text).length === 0],
  ['k8slongname', (text) => checkDnsSubdomain(text).length === 0],
]);

/** Whether a text is of a format. Formats that are unknown to the API are not checked, as upstream. */
export function matchesFormat(format: string, text: string): boolean {
  return formats.get(format.replaceAll('-', ''))?.(text) ?? true;
}

const numberFormats: ReadonlyMap<string, readonly string[]> = new Map([
  ['integer', ['int32', 'int64']],
  ['number', ['float', 'double']],
]);

/** Whether values of the type are checked by the format (upstream: apiserver/validation/formats.go). */
export function isKnownFormat(format: string, type: string): boolean {
  if (type === '' || type === 'string') return formats.has(format.replaceAll('-', '')) || format === 'password';
  return numberFormats.get(type)?.includes(format) ?? false;
}

function isUri(text: string): boolean {
  if (text.startsWith('/')) return true;
  return /^[a-zA-Z][a-zA-Z0-9+.-]*:./.test(text) && !/[\s\p{Cc}]/u.test(text);
}

function isEmail(text: string): boolean {
  const address = /<([^<>]*)>$/.exec(text)?.[1] ?? text;
  const at = address.lastIndexOf('@');
  return at > 0 && at < address.length - 1 && !/\s/.test(address);
}

function isHostname(text: string): boolean {
  return (
    text.length <= 255 &&
    text !== '' &&
    text
      .replace(/\.$/, '')
      .split('.')
      .every((label) => label.length <= 63 && /^[\p{L}\p{N}_](?:[\p{L}\p{N}_-]*[\p{L}\p{N}_])?$/u.test(label))
  );
}

function isCidr(text: string): boolean {
  const [address = '', bits = '', ...more] = text.split('/');
  const bytes = parseIp(address)?.length;
  return more.length === 0 && bytes !== undefined && /^\d{1,3}$/.test(bits) && Number(bits) <= 8 * bytes;
}

const digitsOf = (text: string): string => text.replace(/[\s-]/g, '');

function isIsbn10(text: string): boolean {
  const digits = digitsOf(text);
  if (!/^\d{9}[\dX]$/.test(digits)) return false;
  const sum = [...digits].reduce((all, digit, index) => all + (10 - index) * (digit === 'X' ? 10 : Number(digit)), 0);
  return sum % 11 === 0;
}

function isIsbn13(text: string): boolean {
  const digits = digitsOf(text);
  if (!/^\d{13}$/.test(digits)) return false;
  return [...digits].reduce((all, digit, index) => all + (index % 2 === 0 ? 1 : 3) * Number(digit), 0) % 10 === 0;
}

function isCreditCard(text: string): boolean {
  const digits = text.replace(/\D+/g, '');
  if (!/^\d{13,16}$/.test(digits)) return false;
  const sum = [...digits].reverse().reduce((all, digit, index) => {
    const value = Number(digit) * (index % 2 === 0 ? 1 : 2);
    return all + (value > 9 ? value - 9 : value);
  }, 0);
  return sum % 10 === 0;
}

function isRgbColor(text: string): boolean {
  const parts = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/.exec(text);
  return parts?.slice(1).every((part) => Number(part) <= 255) === true;
}

function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const time = Date.parse(`${text}T00:00:00Z`);
  // Date would read a day that a month does not have as a day of the next month.
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text);
}

function isDateTime(text: string): boolean {
  return (
    /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:[Zz]|[+-]\d{2}:?\d{2})$/.test(text) &&
    isDate(text.slice(0, 10))
  );
}

/** Go's durations, and a number with the name of a unit: `22 ns`, `1 day`. */
function isDuration(text: string): boolean {
  if (parseDurationNanos(text) !== undefined) return true;
  return /^\d+(?:\.\d+)?\s*(?:ns|nanoseconds?|[uµ]s|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)$/.test(
    text.trim(),
  );
}
