/** Headers as Node provides them, with lower-case names. */
export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * The headers that are always for one connection only (RFC 9110 sections 7.6.1, 11.7 and 6.6.2, and the corresponding
 * headers of HTTP/2).
 */
const fixed: ReadonlySet<string> = new Set([
  'connection',
  'proxy-connection',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-authentication-info',
]);

/** Returns the headers for the next hop, without the standard hop-by-hop headers and those that `Connection` names. */
export function endToEndHeaders(headers: Headers): Record<string, string | readonly string[]> {
  const named = listedIn(headers.connection);
  return Object.fromEntries(
    Object.entries(headers).filter(
      (header): header is [string, string | readonly string[]] =>
        header[1] !== undefined && !fixed.has(header[0]) && !named.has(header[0]),
    ),
  );
}

function listedIn(connection: string | readonly string[] | undefined): ReadonlySet<string> {
  const text = typeof connection === 'string' ? connection : (connection ?? []).join(',');
  return new Set(
    text
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  );
}
