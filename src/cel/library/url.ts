import type { Library } from '../environment.ts';
import { globalFunction as fn, memberFunction as member } from '../environment.ts';
import { parseRequestUri } from '../../base/request-uri.ts';
import type { RequestUri } from '../../base/request-uri.ts';
import type { CelType } from '../types.ts';
import { boolType, listOf, mapOf, opaque, stringType } from '../types.ts';
import { ArrayList, CelError, EntryMap, Opaque } from '../values.ts';

const urlType = opaque('kubernetes.URL');

class Url extends Opaque {
  readonly type: CelType = urlType;
  readonly parts: RequestUri;
  readonly #text: string;

  constructor(parts: RequestUri, text: string) {
    super();
    this.parts = parts;
    this.#text = text;
  }

  equals(other: Opaque): boolean {
    return other instanceof Url && this.#text === other.#text;
  }
}

const badEscape = /%(?![0-9A-Fa-f]{2})/;

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
  const parts = parseRequestUri(text);
  if (parts !== undefined) return new Url(parts, text);
  return new CelError(
    `URL parse error during conversion from string: parse ${JSON.stringify(text.slice(0, 128))}: invalid URI for request`,
  );
}

const reader = (id: string, read: (parts: RequestUri) => string) => [
  member(id, [urlType], stringType, ({ parts }: Url) => read(parts)),
];

export const urls: Library = {
  typeNames: { 'kubernetes.URL': urlType },
  functions: {
    url: [fn('string_to_url', [stringType], urlType, toUrl)],
    isURL: [fn('is_url_string', [stringType], boolType, (text: string) => parseRequestUri(text) !== undefined)],
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
