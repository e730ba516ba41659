import type { Complaints } from '../../api/validation/names.ts';
import {
  checkDns1035Label,
  checkDnsLabel,
  checkDnsSubdomain,
  checkLabelKey,
  checkLabelValue,
  checkNamePrefix,
} from '../../api/validation/names.ts';
import type { Library, Overload } from '../../cel/environment.ts';
import { globalFunction as fn, memberFunction as member } from '../../cel/environment.ts';
import { decodeBase64 } from '../../cel/library/encoders.ts';
import { parseTimestamp } from '../../cel/time/formats.ts';
import type { CelType } from '../../cel/types.ts';
import { listOf, opaque, optionalOf, stringType } from '../../cel/types.ts';
import { ArrayList, CelError, none, Opaque, Optional } from '../../cel/values.ts';

const formatType = opaque('kubernetes.NamedFormat');

class NamedFormat extends Opaque {
  readonly type: CelType = formatType;
  readonly name: string;
  readonly check: (text: string) => Complaints;

  constructor(name: string, check: (text: string) => Complaints) {
    super();
    this.name = name;
    this.check = check;
  }

  equals(other: Opaque): boolean {
    return other instanceof NamedFormat && other.name === this.name;
  }
}

const complain =
  (isValid: (text: string) => boolean, complaint: string) =>
  (text: string): Complaints =>
    isValid(text) ? [] : [complaint];

const uuid = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const uri = /^(?:[A-Za-z][A-Za-z0-9+.-]*:[^\s]+|\/[^\s]*)$/;
const date = /^\d{4}-\d\d-\d\d$/;

const isDate = (text: string): boolean => date.test(text) && !(parseTimestamp(`${text}T00:00:00Z`) instanceof CelError);

const checks: readonly (readonly [string, (text: string) => Complaints])[] = [
  ['dns1123Label', checkDnsLabel],
  ['dns1123Subdomain', (text) => checkDnsSubdomain(text)],
  ['dns1035Label', checkDns1035Label],
  ['qualifiedName', checkLabelKey],
  ['dns1123LabelPrefix', (text) => checkNamePrefix(text, checkDnsLabel)],
  ['dns1123SubdomainPrefix', (text) => checkNamePrefix(text)],
  ['dns1035LabelPrefix', (text) => checkNamePrefix(text, checkDns1035Label)],
  ['labelValue', checkLabelValue],
  ['uri', complain((text) => text.length <= 8192 && uri.test(text), 'invalid URI for request')],
  ['uuid', complain((text) => uuid.test(text), 'does not match the UUID format')],
  ['byte', complain((text) => decodeBase64(text) !== undefined, 'invalid base64')],
  ['date', complain(isDate, 'invalid date')],
  ['datetime', complain((text) => !(parseTimestamp(text) instanceof CelError), 'invalid datetime')],
];

const formats = new Map(checks.map(([name, check]) => [name, new NamedFormat(name, check)]));

function validate(format: NamedFormat, text: string): Optional {
  const complaints = format.check(text);
  return complaints.length === 0 ? none : new Optional(new ArrayList([...complaints]));
}

const constants = Object.fromEntries(
  [...formats].map(([name, format]): [string, Overload[]] => [
    `format.${name}`,
    [fn(`format.${name}`, [], formatType, () => format)],
  ]),
);

/** Named formats of texts. */
export const namedFormats: Library = {
  typeNames: { 'kubernetes.NamedFormat': formatType },
  functions: {
    ...constants,
    'format.named': [
      fn('format-named', [stringType], optionalOf(formatType), (name: string) => new Optional(formats.get(name))),
    ],
    validate: [member('format-validate', [formatType, stringType], optionalOf(listOf(stringType)), validate)],
  },
};
