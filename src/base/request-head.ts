/** The supported methods. Others are rejected with 405 before anything else is checked. */
export type RequestMethod = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';

/** The target of a request. It is parsed once; authorization and routing use this value. */
export interface RequestTarget {
  /** The path as sent, without the query. It begins with `/` and is printable ASCII without `?` and `#`. */
  readonly rawPath: string;
  /** The query as sent, with its `?`; empty without one. It is printable ASCII without `#`. */
  readonly search: string;
}

/** The length of a request's body in bytes, or `chunked` if it is known only at the end. */
export type BodyLength = number | 'chunked';

/** The head of a request, checked. No header of the request changes any of it afterwards. */
export interface RequestHead {
  readonly method: RequestMethod;
  readonly target: RequestTarget;
  /** The length of the body; 0 without a body. */
  readonly body: BodyLength;
}

export interface SentHead {
  readonly method: string;
  /** The request target, or `:path` in HTTP/2. */
  readonly target: string;
  readonly version: '0.9' | '1.0' | '1.1' | '2.0';
  /** Alternating names and values, as received. */
  readonly rawHeaders: readonly string[];
  /** HTTP/2 only: whether the stream ended with its head. */
  readonly endsWithHead?: boolean;
}

export interface RefusedHead {
  readonly outcome: 'refused';
  readonly status: 400 | 405;
  readonly why: string;
}

export type HeadReading = { readonly outcome: 'head'; readonly head: RequestHead } | RefusedHead;

const methods: ReadonlySet<string> = new Set<RequestMethod>([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
]);
const hostPattern = /^[A-Za-z0-9._:[\]-]+$/;
/** Matches lengths that a number can represent exactly. */
const lengthPattern = /^\d{1,15}$/;
const LONGEST_DECODED_PATH = 4096;

/**
 * Reads the head of a request strictly. Anything that two parsers could interpret differently is rejected, and the
 * connection is closed.
 */
export function readRequestHead(sent: SentHead): HeadReading {
  if (sent.version === '0.9') return refused('the version of HTTP is not served');
  if (!methods.has(sent.method)) return { outcome: 'refused', status: 405, why: 'the method is not served' };
  const values = valuesOf(sent.rawHeaders);
  const problem = hostProblem(sent.version, values);
  if (problem !== undefined) return refused(problem);
  const target = readTarget(sent);
  if (typeof target === 'string') return refused(target);
  const body = readLength(sent, values);
  if (body === undefined) return refused('the length of the body is not clear');
  return { outcome: 'head', head: { method: sent.method as RequestMethod, target, body } };
}

const refused = (why: string): RefusedHead => ({ outcome: 'refused', status: 400, why });

type Values = ReadonlyMap<string, readonly string[]>;

const wanted: ReadonlySet<string> = new Set(['host', ':authority', 'content-length', 'transfer-encoding']);

function valuesOf(rawHeaders: readonly string[]): Values {
  const values = new Map<string, string[]>();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? '';
    if (!wanted.has(name)) continue;
    const known = values.get(name) ?? [];
    known.push(rawHeaders[index + 1] ?? '');
    values.set(name, known);
  }
  return values;
}

/** Returns the problem of the host. There must be one host with valid characters. It is not used otherwise. */
function hostProblem(version: SentHead['version'], values: Values): string | undefined {
  const hosts = values.get('host') ?? [];
  const authorities = values.get(':authority') ?? [];
  if (hosts.length > 1 || authorities.length > 1) return 'the request names several hosts';
  const all = [...new Set([...hosts, ...authorities].map((host) => host.toLowerCase()))];
  if (all.length === 0) return version === '1.0' ? undefined : 'the request names no host';
  if (all.length > 1) return 'the request names several hosts';
  return all.every((host) => hostPattern.test(host)) ? undefined : 'the host is malformed';
}

/**
 * Reads the target in origin form, or in the absolute form that every HTTP/1.1 server must accept. A text is a
 * rejection.
 */
function readTarget({ target, version }: SentHead): RequestTarget | string {
  const local = target.startsWith('/') ? target : version === '2.0' ? undefined : afterAuthority(target);
  if (local === undefined || !/^[!"$-~]*$/.test(local)) return 'the request target is malformed';
  const at = local.indexOf('?');
  return at < 0 ? { rawPath: local, search: '' } : { rawPath: local.slice(0, at), search: local.slice(at) };
}

function afterAuthority(target: string): string | undefined {
  const [, host = '', rest = ''] = /^https?:\/\/([^/?#]*)(.*)$/is.exec(target) ?? [];
  if (!hostPattern.test(host)) return undefined;
  return rest.startsWith('/') ? rest : `/${rest}`;
}

/** Reads the body length by RFC 9112 section 6.3, without its exceptions. Returns undefined for anything ambiguous. */
function readLength({ version, endsWithHead = false }: SentHead, values: Values): BodyLength | undefined {
  const codings = values.get('transfer-encoding') ?? [];
  const lengths = values.get('content-length') ?? [];
  if (codings.length > 0)
    return version === '1.1' && lengths.length === 0 && codings.length === 1 && codings[0]?.toLowerCase() === 'chunked'
      ? 'chunked'
      : undefined;
  if (lengths.length === 0) return version === '2.0' && !endsWithHead ? 'chunked' : 0;
  const [length = ''] = lengths;
  return lengths.length === 1 && lengthPattern.test(length) ? Number(length) : undefined;
}

/**
 * Returns the percent-decoded path if it has one interpretation. Returns undefined if encoded slashes, percent,
 * question or number signs, backslashes, control characters, empty parts or dot parts could let two parsers see two
 * paths.
 */
export function plainPath({ rawPath }: RequestTarget): string | undefined {
  if (rawPath.length > LONGEST_DECODED_PATH) return undefined;
  const path = decodePart(rawPath);
  if (path === undefined || path.split('/').length !== rawPath.split('/').length) return undefined;
  return /[\\%?#\p{Cc}]|\/\/|\/\.{1,2}(?:\/|$)/u.test(path) ? undefined : path;
}

/** Percent-decodes a part. Returns undefined for invalid escapes, and for invalid UTF-8. */
export function decodePart(raw: string): string | undefined {
  if (!raw.includes('%')) return raw;
  try {
    return decodeURIComponent(raw);
  } catch {
    return undefined;
  }
}
