import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import type { AuthenticationRequest, Authenticator, UserInfo } from '../../model/user-info.ts';
import { headerOf, headersOf } from '../http/http-request.ts';
import type { HttpRequest } from '../http/http-request.ts';
import { anonymousUser } from './exchange.ts';

export interface Authentication {
  readonly authenticators: readonly Authenticator[];
  /** Whether requests without credentials belong to `system:anonymous`. Requests with invalid credentials never do. */
  readonly anonymous: AnonymousRule;
}

/** Whether, or for which paths, requests without credentials are accepted as `system:anonymous`. */
export type AnonymousRule = boolean | ReadonlySet<string>;

export type AuthenticationOutcome =
  | { readonly user: UserInfo }
  | { readonly refused: ApiStatusError; readonly errors: readonly string[] };

/**
 * Calls the authenticators one after another until one identifies the user; after an error it continues with the next
 * one.
 */
export async function authenticate(
  http: HttpRequest,
  { authenticators, anonymous }: Authentication,
): Promise<AuthenticationOutcome> {
  const request = credentialsOf(http);
  const errors: string[] =
    http.clientCertificate?.verified === false ? ['x509: certificate signed by unknown authority'] : [];
  for (const authenticator of authenticators) {
    const result = await authenticator.authenticate(request);
    if (result.outcome === 'user') return { user: withAuthenticatedGroup(result.user) };
    if (result.outcome === 'failed') errors.push(result.error);
  }
  if (errors.length === 0 && allowsAnonymous(anonymous, http)) return { user: anonymousUser };
  return { refused: new ApiStatusError('Unauthorized', 'Unauthorized'), errors };
}

/** Whether the rule allows the path, compared as sent: a differently escaped path is another path. */
const allowsAnonymous = (rule: AnonymousRule, { target }: HttpRequest): boolean =>
  typeof rule === 'boolean' ? rule : rule.has(target.rawPath);

const TOKEN_PROTOCOL = 'base64url.bearer.authorization.k8s.io.';

function credentialsOf(http: HttpRequest): AuthenticationRequest {
  const { clientCertificate } = http;
  const authorization = headerOf(http.headers, 'authorization');
  const webSocketToken =
    headerOf(http.headers, 'upgrade')?.toLowerCase() === 'websocket' ? tokenInProtocols(http) : undefined;
  return {
    ...(clientCertificate?.verified === true && {
      clientCertificate: { der: clientCertificate.der },
      readHeaders: () => headerLines(http),
    }),
    ...(authorization !== undefined && { authorization }),
    ...(webSocketToken !== undefined && { webSocketToken }),
  };
}

function headerLines({ rawHeaders, headers }: HttpRequest): ReadonlyMap<string, readonly string[]> {
  const lines = new Map<string, string[]>();
  const add = (name: string, value: string): void => {
    const known = lines.get(name.toLowerCase());
    if (known === undefined) lines.set(name.toLowerCase(), [value]);
    else known.push(value);
  };
  if (rawHeaders === undefined)
    for (const name of Object.keys(headers)) for (const value of headersOf(headers, name)) add(name, value);
  else for (let at = 0; at + 1 < rawHeaders.length; at += 2) add(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  return lines;
}

function tokenInProtocols(http: HttpRequest): string | undefined {
  const offered = (headerOf(http.headers, 'sec-websocket-protocol') ?? '').split(',').map((each) => each.trim());
  const encoded = offered.find((each) => each.startsWith(TOKEN_PROTOCOL))?.slice(TOKEN_PROTOCOL.length);
  return encoded === undefined ? undefined : Buffer.from(encoded, 'base64url').toString('utf8');
}

function withAuthenticatedGroup(user: UserInfo): UserInfo {
  if (
    user.name === anonymousUser.name ||
    user.groups.includes('system:authenticated') ||
    user.groups.includes('system:unauthenticated')
  )
    return user;
  return { ...user, groups: [...user.groups, 'system:authenticated'] };
}
