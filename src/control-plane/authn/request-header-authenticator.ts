import { createClientCertificateJudge } from '../../pki/client-certificates.ts';
import type { Authenticator, UserInfo } from '../model/user-info.ts';

/** The flags `--requestheader-*` of upstream's API server. Header names are not case-sensitive. */
export interface RequestHeaderNames {
  readonly usernameHeaders: readonly string[];
  readonly uidHeaders: readonly string[];
  readonly groupHeaders: readonly string[];
  readonly extraHeadersPrefixes: readonly string[];
}

export interface RequestHeaderOptions extends RequestHeaderNames {
  /** Returns the CAs that sign the certificates of front proxies, in PEM. */
  readonly authorities: () => string;
  /** The allowed common names; empty allows every certificate of these CAs. */
  readonly allowedNames: readonly string[];
  readonly nowMs: () => number;
}

type Headers = ReadonlyMap<string, readonly string[]>;

/**
 * Authenticates users by headers of a front proxy, which is identified by its client certificate (upstream:
 * headerrequest). Headers of other clients are ignored.
 */
export function createRequestHeaderAuthenticator(options: RequestHeaderOptions): Authenticator {
  const { authorities, allowedNames, nowMs } = options;
  const judge = createClientCertificateJudge({ authorities, nowMs });
  return {
    name: 'requestheader',
    authenticate: ({ clientCertificate, readHeaders }) => {
      if (clientCertificate === undefined || readHeaders === undefined) return Promise.resolve({ outcome: 'none' });
      const verdict = judge(clientCertificate.der);
      // A certificate of another CA may be an ordinary client certificate.
      if (verdict.outcome === 'failed') return Promise.resolve({ outcome: 'none' });
      const name = verdict.outcome === 'user' ? verdict.user.name : '';
      if (allowedNames.length > 0 && !allowedNames.includes(name))
        return Promise.resolve({
          outcome: 'failed',
          error: `x509: subject with cn=${name} is not in the allowed list`,
        });
      const user = userIn(decoded(readHeaders()), options);
      return Promise.resolve(user === undefined ? { outcome: 'none' } : { outcome: 'user', user });
    },
  };
}

/** Decodes headers as UTF-8, which proxies send. Node reads them as Latin-1. */
const decoded = (headers: Headers): Headers =>
  new Map([...headers].map(([name, values]) => [name, values.map(decode)]));

const decode = (value: string): string => Buffer.from(value, 'latin1').toString('utf8');

function userIn(headers: Headers, names: RequestHeaderNames): UserInfo | undefined {
  const first = (of: readonly string[]): string =>
    of.map((name) => headers.get(name.toLowerCase())?.[0] ?? '').find((value) => value !== '') ?? '';
  const name = first(names.usernameHeaders);
  if (name === '') return undefined;
  const uid = first(names.uidHeaders);
  const groups = names.groupHeaders.flatMap((header) => headers.get(header.toLowerCase()) ?? []);
  const extra = extraIn(headers, names.extraHeadersPrefixes);
  return {
    name,
    groups: groups.filter((group) => group !== ''),
    ...(uid !== '' && { uid }),
    ...(Object.keys(extra).length > 0 && { extra }),
  };
}

function extraIn(headers: Headers, prefixes: readonly string[]): Record<string, readonly string[]> {
  const extra: Record<string, readonly string[]> = Object.create(null) as Record<string, readonly string[]>;
  for (const prefix of prefixes.map((each) => each.toLowerCase()))
    for (const [header, values] of headers) {
      if (!header.startsWith(prefix)) continue;
      const key = unescape(header.slice(prefix.length)).toLowerCase();
      if (key !== '') extra[key] = [...(extra[key] ?? []), ...values];
    }
  return extra;
}

function unescape(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
