import { parseIp, parseSloppyIp } from '../../base/ip-address.ts';
import { parseRequestUri } from '../../base/request-uri.ts';
import { parseDurationNanos } from '../duration.ts';
import { checkDnsLabel, checkDnsSubdomain } from '../validation/names.ts';
import { isCardNumber } from './card-number.ts';
import { isMailAddress } from './mail-address.ts';

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
  ['uri', (text) => parseRequestUri(text) !== undefined],
  ['email', isMailAddress],
  ['hostname', isHostname],
  // An IPv4 address in the notation of IPv6 counts as IPv4 too.
  ['ipv4', (text) => text.includes('.') && parseSloppyIp(text) !== undefined],
  ['ipv6', (text) => parseIp(text)?.length === 16],
  ['cidr', isCidr],
  ['mac', isMac],
  ['uuid', uuid(`${HEX}{4}`, `${HEX}{4}`)],
  ['uuid3', uuid(`3${HEX}{3}`, `${HEX}{4}`)],
  ['uuid4', uuid(`4${HEX}{3}`, `[89abAB]${HEX}{3}`)],
  ['uuid5', uuid(`5${HEX}{3}`, `[89abAB]${HEX}{3}`)],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCardNumber],
  ['ssn', expression(/^\d{3}[- ]\d{2}[- ]\d{4}$/)],
  ['hexcolor', expression(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  ['rgbcolor', isRgbColor],
  ['byte', expression(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)$/)],
  ['date', isDate],
  ['duration', isDuration],
  ['datetime', isDateTime],
  ['k8sshortname', (text) => checkDnsLabel(text).length === 0],
  ['k8slongname', (text) => checkDnsSubdomain(text).length === 0],
]);

/** Whether a text matches a format. As in upstream, unknown formats are not checked. */
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

const WORD = 'a-zA-Z0-9\\p{L}\\p{S}';
const wholeName = new RegExp(`^[${WORD}]-?[${WORD}]{0,62}$`, 'u');
const label = new RegExp(`^[${WORD}](?:[${WORD}-]{0,61}[${WORD}])?$`, 'u');
const lastLabel = /^\p{L}{2,63}$/u;

/** Upstream's rule: the last label has letters only, and a name without dots has a hyphen only as its second character. */
function isHostname(text: string): boolean {
  if (Buffer.byteLength(text) > 255) return false;
  const labels = text.split('.');
  if (labels.some((each) => Buffer.byteLength(each) > 63)) return false;
  const last = labels.pop() ?? '';
  return labels.length === 0 ? wholeName.test(last) : lastLabel.test(last) && labels.every((each) => label.test(each));
}

/** 6, 8 or 20 bytes, as pairs of hexadecimal digits or as groups of four with dots between them. */
function isMac(text: string): boolean {
  const pairs = /^[0-9a-fA-F]{2}([:-]?)(?:[0-9a-fA-F]{2}\1)*[0-9a-fA-F]{2}$/;
  const fours = /^[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4})+$/;
  return [6, 8, 20].includes(text.replace(/[:.-]/g, '').length / 2) && (pairs.test(text) || fours.test(text));
}

function isCidr(text: string): boolean {
  const [address = '', bits = '', ...more] = text.split('/');
  const bytes = parseSloppyIp(address)?.length;
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
  const [date = '', time = ''] = text.toLowerCase().split('t');
  return isDate(date) && /^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:.\d+)?(?:z|[+-]\d{2}:\d{2})$/.test(time);
}

/** A number with a unit of time. A number starts at its first digit, which keeps the search linear. */
const amount = /(?<!\d)(\d+)\s*([A-Za-zµ]+)/g;
const timeUnit = /^(?:ns|nano.*|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*)$/;
const MAX_AMOUNT = 2n ** 63n - 1n;

/** Go's durations, and texts with a number and a unit of time anywhere in them: `22 ns`, `1 day`, `1m 30s`. */
function isDuration(text: string): boolean {
  if (parseDurationNanos(text) !== undefined) return true;
  const amounts = [...text.matchAll(amount)];
  const fits = (digits: string): boolean => digits.replace(/^0+/, '').length <= 19 && BigInt(digits) <= MAX_AMOUNT;
  return (
    amounts.every(([, digits = '']) => fits(digits)) &&
    amounts.some(([, , unit = '']) => timeUnit.test(unit.toLowerCase()))
  );
}
