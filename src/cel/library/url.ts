import type { Library } from '../environment.ts';
import { globalFunction as fn, memberFunction as member } from '../environment.ts';
import type { CelType } from '../types.ts';
import { boolType, listOf, mapOf, opaque, stringType } from '../types.ts';
import { ArrayList, CelError, EntryMap, Opaque } from '../values.ts';

const urlType = opaque('kubernetes.URL');
const TEXT_LIMIT = 64 * 1024;

interface Parts {
  readonly scheme: string;
  /** Host and port; IPv6 addresses have brackets. */
  readonly host: string;
  readonly path: string;
  readonly query: string;
}

class Url extends Opaque {
  readonly type: CelType = urlType;
  readonly parts: Parts;
  readonly #text: string;

  constructor(parts: Parts, text: string) {
    super();
    this.parts = parts;
    this.#text = text;
  }

  equals(other: Opaque): boolean {
    return other instanceof Url && this.#text === other.#text;
  }
}

const scheme = /^[A-Za-z][A-Za-z0-9+.-]*$/;
const badEscape = /%(?![0-9A-Fa-f]{2})/;

/**
 * An absolute URI or an absolute path, as in Go's url.ParseRequestURI. Input that the WHATWG's URL would correct is
 * refused here.
 */
function parse(text: string): Parts | undefined {
  if (text === '' || text.length > TEXT_LIMIT || /[\x00-\x1f\x7f]/.test(text)) return undefined;
  const colon = text.indexOf(':');
  const slash = text.indexOf('/');
  const hasScheme = colon > 0 && (slash < 0 || colon < slash);
  const name = hasScheme ? text.slice(0, colon) : '';
  if (colon === 0 || (hasScheme && !scheme.test(name))) return undefined;
  const rest = hasScheme ? text.slice(colon + 1) : text;
  const mark = rest.indexOf('?');
  const [main, query] = mark < 0 ? [rest, ''] : [rest.slice(0, mark), rest.slice(mark + 1)];
  if (!main.startsWith('/')) return hasScheme ? { scheme: name.toLowerCase(), host: '', path: '', query } : undefined;
  const hasHost = main.startsWith('//') && (hasScheme || !main.startsWith('///'));
  const end = hasHost ? main.indexOf('/', 2) : 0;
  const authority = hasHost ? main.slice(2, end < 0 ? undefined : end) : '';
  const path = hasHost ? (end < 0 ? '' : main.slice(end)) : main;
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  if (badEscape.test(path) || !isHost(host)) return undefined;
  return { scheme: name.toLowerCase(), host, path, query };
}

function isHost(host: string): boolean {
  if (host.startsWith('[')) return /^\[[^\]]*\](?::\d*)?$/.test(host);
  return !/[\s<>"{}|\\^`[\]]/.test(host) && /^[^:]*(?::\d*)?$/.test(host) && !badEscape.test(host);
}

const portOf = (host: string): string => /:(\d*)$/.exec(host)?.[1] ?? '';
const nameOf = (host: string): string => {
  const bare = host.replace(/:\d*$/, '');
  return bare.startsWith('[') ? bare.slice(1, -1) : bare;
};

/** A path with the escapes that Go would write. */
const escapePath = (path: string): string =>
  encodeURI(path.toWellFormed()).replaceAll('%25', '%').replaceAll('[', '%5B').replaceAll(']', '%5D');

function queryOf(query: string): EntryMap {
  const values = new Map<string, string[]>();
  for (const pair of query.split('&')) {
    if (pair === '' || pair.includes(';')) continue;
    const equal = pair.indexOf('=');
    const [key, value] = (equal < 0 ? [pair, ''] : [pair.slice(0, equal), pair.slice(equal + 1)]).map(unescape);
    if (key === undefined || value === undefined) continue;
    const known = values.get(key);
    if (known === undefined) values.set(key, [value]);
    else known.push(value);
  }
  const map = new EntryMap();
  for (const [key, list] of values) map.add(key, key, new ArrayList(list));
  return map;
}

function unescape(text: string): string | undefined {
  if (badEscape.test(text)) return undefined;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

function toUrl(text: string): Url | CelError {
  const parts = parse(text);
  if (parts !== undefined) return new Url(parts, text);
  return new CelError(
    `URL parse error during conversion from string: parse ${JSON.stringify(text.slice(0, 128))}: invalid URI for request`,
  );
}

const reader = (id: string, read: (parts: Parts) => string) => [
  member(id, [urlType], stringType, ({ parts }: Url) => read(parts)),
];

export const urls: Library = {
  typeNames: { 'kubernetes.URL': urlType },
  functions: {
    url: [fn('string_to_url', [stringType], urlType, toUrl)],
    isURL: [fn('is_url_string', [stringType], boolType, (text: string) => parse(text) !== undefined)],
    getScheme: reader('url_get_scheme', (parts) => parts.scheme),
    getHost: reader('url_get_host', (parts) => parts.host),
    getHostname: reader('url_get_hostname', (parts) => nameOf(parts.host)),
    getPort: reader('url_get_port', (parts) => portOf(parts.host)),
    getEscapedPath: reader('url_get_escaped_path', (parts) => escapePath(parts.path)),
    getQuery: [
      member('url_get_query', [urlType], mapOf(stringType, listOf(stringType)), ({ parts }: Url) =>
        queryOf(parts.query),
      ),
    ],
  },
};
