import { Buffer } from 'node:buffer';
import { parseIp, parseSloppyIp, unmapped } from '../../base/ip-address.ts';

/**
 * Checks of single values. Each returns the errors, in upstream's words (apimachinery util/validation and
 * api/validate/content).
 */
export type Complaints = readonly string[];

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`;
const LABEL1035 = '[a-z]([-a-z0-9]*[a-z0-9])?';
const LABEL_UNDERSCORE = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const SUBDOMAIN_UNDERSCORE = `${LABEL_UNDERSCORE}(\\.${LABEL_UNDERSCORE})*`;
const LABEL_KEY = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const LABEL_VALUE = `(${LABEL_KEY})?`;
const CONFIG_KEY = '[-._a-zA-Z0-9]+';
const HEADER_NAME = '[-A-Za-z0-9]+';

const labelPattern = new RegExp(`^${LABEL}$`);
const label1035Pattern = new RegExp(`^${LABEL1035}$`);
const subdomainPattern = new RegExp(`^${SUBDOMAIN}$`);
const subdomainUnderscorePattern = new RegExp(`^${SUBDOMAIN_UNDERSCORE}$`);
const labelKeyPattern = new RegExp(`^${LABEL_KEY}$`);
const labelValuePattern = new RegExp(`^${LABEL_VALUE}$`);
const configKeyPattern = new RegExp(`^${CONFIG_KEY}$`);
const headerNamePattern = new RegExp(`^${HEADER_NAME}$`);

export const INT32_MAX = 2_147_483_647;

/** The length in bytes, as in Go. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text);
}

function regexError(message: string, pattern: string, examples: readonly string[]): string {
  return `${message} (e.g. ${examples.map((example) => `'${example}', `).join(' or ')}regex used for validation is '${pattern}')`;
}

const tooManyCharacters = (max: number): string => `must be no more than ${max} characters`;
const tooManyBytes = (max: number): string => `must be no more than ${max} bytes`;

export function rangeError(low: number, high: number): string {
  return `must be between ${low} and ${high}, inclusive`;
}

/** Patterns with nested repetitions are only applied to texts whose length can match. */
function matches(pattern: RegExp, text: string, max: number): boolean {
  return text.length <= max * 4 && pattern.test(text);
}

export function checkDnsLabel(value: string): Complaints {
  const complaints: string[] = [];
  if (byteLength(value) > 63) complaints.push(tooManyCharacters(63));
  if (matches(labelPattern, value, 253)) return complaints;
  if (matches(subdomainPattern, value, 253)) complaints.push('must not contain dots');
  else
    complaints.push(
      regexError(
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
        LABEL,
        ['my-name', '123-abc'],
      ),
    );
  return complaints;
}

/** Stricter than a DNS label: begins with a letter. */
export function checkDns1035Label(value: string): Complaints {
  const complaints: string[] = [];
  if (byteLength(value) > 63) complaints.push(tooManyCharacters(63));
  if (!matches(label1035Pattern, value, 63)) {
    complaints.push(
      regexError(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
        LABEL1035,
        ['my-name', 'abc-123'],
      ),
    );
  }
  return complaints;
}

export function checkDnsSubdomain(value: string, tooLong: (max: number) => string = tooManyCharacters): Complaints {
  const complaints: string[] = [];
  if (byteLength(value) > 253) complaints.push(tooLong(253));
  if (!matches(subdomainPattern, value, 253)) {
    complaints.push(
      regexError(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character",
        SUBDOMAIN,
        ['example.com'],
      ),
    );
  }
  return complaints;
}

const wildcardSubdomainPattern = new RegExp(`^\\*\\.${SUBDOMAIN}$`);

/** A domain whose first label is `*` (upstream: IsWildcardDNS1123Subdomain). */
export function checkWildcardDnsSubdomain(value: string): Complaints {
  const complaints: string[] = [];
  if (byteLength(value) > 253) complaints.push(tooManyCharacters(253));
  if (!matches(wildcardSubdomainPattern, value, 253)) {
    complaints.push(
      regexError(
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
        `\\*\\.${SUBDOMAIN}`,
        ['*.example.com'],
      ),
    );
  }
  return complaints;
}

export function checkDnsSubdomainWithUnderscore(value: string): Complaints {
  const complaints: string[] = [];
  if (byteLength(value) > 253) complaints.push(tooManyCharacters(253));
  if (!matches(subdomainUnderscorePattern, value, 253)) {
    complaints.push(
      regexError(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
        SUBDOMAIN_UNDERSCORE,
        ['example.com'],
      ),
    );
  }
  return complaints;
}

/** Checks a prefix of generated names, which may end with a dash. */
export function checkNamePrefix(value: string, check: (name: string) => Complaints = checkDnsSubdomain): Complaints {
  return check(value.length > 1 && value.endsWith('-') ? `${value.slice(0, -2)}a` : value);
}

const LABEL_KEY_MESSAGE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const labelKeyExamples = ['MyName', 'my.name', '123-abc'];

/** A label key, annotation key or any other "qualified name": an optional DNS prefix and a name. */
export function checkLabelKey(value: string): Complaints {
  const parts = value.split('/');
  if (parts.length > 2)
    return [
      `a valid label key ${regexError(LABEL_KEY_MESSAGE, LABEL_KEY, labelKeyExamples)} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  const complaints: string[] = [];
  const name = parts.at(-1) ?? '';
  if (parts.length === 2) {
    const prefix = parts[0] ?? '';
    if (prefix === '') complaints.push('prefix part must be non-empty');
    else complaints.push(...checkDnsSubdomain(prefix, tooManyBytes).map((complaint) => `prefix part ${complaint}`));
  }
  if (name === '') complaints.push('name part must be non-empty');
  else if (byteLength(name) > 63) complaints.push(`name part ${tooManyBytes(63)}`);
  if (!labelKeyPattern.test(name))
    complaints.push(`name part ${regexError(LABEL_KEY_MESSAGE, LABEL_KEY, labelKeyExamples)}`);
  return complaints;
}

export function checkLabelValue(value: string): Complaints {
  const complaints: string[] = [];
  if (byteLength(value) > 63) complaints.push(tooManyBytes(63));
  if (!labelValuePattern.test(value)) {
    complaints.push(
      regexError(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        LABEL_VALUE,
        ['MyValue', 'my_value', '12345'],
      ),
    );
  }
  return complaints;
}

export function checkConfigKey(value: string): Complaints {
  const complaints: string[] = [];
  if (byteLength(value) > 253) complaints.push(tooManyCharacters(253));
  if (!configKeyPattern.test(value)) {
    complaints.push(
      regexError("a valid config key must consist of alphanumeric characters, '-', '_' or '.'", CONFIG_KEY, [
        'key.name',
        'KEY_NAME',
        'key-name',
      ]),
    );
  }
  if (value === '.') complaints.push("must not be '.'");
  else if (value === '..') complaints.push("must not be '..'");
  else if (value.startsWith('..')) complaints.push("must not start with '..'");
  return complaints;
}

/**
 * Checks a name that becomes one segment of a path (upstream: apimachinery api/validation/path). Control characters,
 * which upstream accepts, are rejected, because the name is also used for files and cgroups.
 */
export function checkPathSegment(value: string): Complaints {
  if (value === '.' || value === '..') return [`may not be '${value}'`];
  const complaints = ['/', '%'].filter((sign) => value.includes(sign)).map((sign) => `may not contain '${sign}'`);
  if (/\p{Cc}/u.test(value)) complaints.push('may not contain control characters');
  if (byteLength(value) > 253) complaints.push(tooManyCharacters(253));
  return complaints;
}

/** Environment variable names: since 1.34 any printable ASCII but the equals sign. */
export function checkEnvName(value: string): Complaints {
  if (value === '') return ['environment variable name must be non-empty'];
  return /^[ -<>-~]*$/.test(value)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
}

export function checkHeaderName(value: string): Complaints {
  return headerNamePattern.test(value)
    ? []
    : [
        regexError("a valid HTTP header must consist of alphanumeric characters or '-'", HEADER_NAME, [
          'X-Header-Name',
        ]),
      ];
}

export function checkPortNumber(port: number): Complaints {
  return port >= 1 && port <= 65535 ? [] : [rangeError(1, 65535)];
}

export function checkPortName(name: string): Complaints {
  const complaints: string[] = [];
  if (byteLength(name) > 15) complaints.push(tooManyCharacters(15));
  if (!/^[-a-z0-9]+$/.test(name))
    complaints.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(name)) complaints.push('must contain at least one letter (a-z)');
  if (name.includes('--')) complaints.push('must not contain consecutive hyphens');
  if (name.startsWith('-') || name.endsWith('-')) complaints.push('must not begin or end with a hyphen');
  return complaints;
}

/** Checks a user or group id; both have the same range. */
export function checkId(id: number): Complaints {
  return id >= 0 && id <= INT32_MAX ? [] : [rangeError(0, INT32_MAX)];
}

const NOT_AN_IP = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';

/** As in upstream, a colon distinguishes the two families. */
export function isIpv6Text(value: string): boolean {
  return value.includes(':');
}

/** As strict as v1.36 is for older fields (feature gate StrictIPCIDRValidation). */
export function checkStrictIp(value: string): Complaints {
  const bytes = parseIp(value);
  if (bytes === undefined) return [parseSloppyIp(value) === undefined ? NOT_AN_IP : 'must not have leading 0s'];
  return unmapped(bytes).length < bytes.length ? ['must not be an IPv4-mapped IPv6 address'] : [];
}

/** Upstream: parseCIDR, strict. */
export function checkStrictCidr(value: string): Complaints {
  const [address = '', prefix = '', ...rest] = value.split('/');
  // Leading zeros are tolerated here, to be complained about below.
  const bytes = parseSloppyIp(address);
  if (bytes === undefined || rest.length > 0 || !/^[0-9]{1,3}$/.test(prefix) || Number(prefix) > 8 * bytes.length)
    return ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'];
  const strict = checkStrictIp(address);
  if (/^0[0-9]/.test(prefix) || strict.some((complaint) => complaint.includes('leading')))
    return ['must not have leading 0s in IP or prefix length'];
  if (strict.length > 0) return ['must not have an IPv4-mapped IPv6 address'];
  return hasBitsBeyond(bytes, Number(prefix)) ? ['must not have bits set beyond the prefix length'] : [];
}

const hasBitsBeyond = (bytes: Uint8Array, prefix: number): boolean =>
  bytes.some((byte, index) => (byte & (0xff >> Math.min(8, Math.max(0, prefix - 8 * index)))) !== 0);
