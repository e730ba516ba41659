/** Longer texts are rejected, because each check reads the whole text. */
const TEXT_LIMIT = 64 * 1024;

export interface RequestUri {
  readonly scheme: string;
  /** Host and port; IPv6 addresses have brackets. */
  readonly host: string;
  readonly path: string;
  readonly query: string;
}

const scheme = /^[A-Za-z][A-Za-z0-9+.-]*$/;
const badEscape = /%(?![0-9A-Fa-f]{2})/;

/**
 * An absolute URI or an absolute path, as in Go's url.ParseRequestURI. Input that the WHATWG's URL would correct is
 * refused here.
 */
export function parseRequestUri(text: string): RequestUri | undefined {
  if (text === '' || text.length > TEXT_LIMIT || /[\x00-\x1f\x7f]/.test(text)) return undefined;
  if (text === '*') return { scheme: '', host: '', path: '*', query: '' };
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
