import { Buffer } from 'node:buffer';
import { KubeletError } from '../base/errors.ts';
import type { ClusterAccess } from './cluster-access.ts';

type Headers = Record<string, string | readonly string[]>;

/** Only printable ASCII: a line break would begin another header. */
export const isHeaderText = (text: string): boolean => /^[\x20-\x7e]*$/.test(text);

/** The headers of a request: the credentials and the content type. */
export function requestHeaders(
  access: ClusterAccess,
  {
    userAgent,
    contentType = 'application/json',
    body,
  }: { readonly userAgent: string; readonly contentType: string | undefined; readonly body: string | undefined },
): Headers {
  const authorization = authorizationOf(access);
  return {
    accept: 'application/json',
    'user-agent': userAgent,
    ...(authorization !== undefined && { authorization }),
    ...impersonation(access),
    ...(body !== undefined && { 'content-type': contentType, 'content-length': String(Buffer.byteLength(body)) }),
  };
}

function authorizationOf({ token, username, password }: ClusterAccess): string | undefined {
  if (token !== undefined) {
    if (!isHeaderText(token))
      throw new KubeletError('Invalid', 'the token has characters that no request can carry', { op: 'make request' });
    return `Bearer ${token}`;
  }
  return username === undefined
    ? undefined
    : `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}`;
}

function impersonation({ impersonate }: ClusterAccess): Headers {
  if (impersonate === undefined) return {};
  const { user, uid, groups, extra } = impersonate;
  const headers: Headers = { 'impersonate-user': user };
  if (uid !== undefined) headers['impersonate-uid'] = uid;
  if (groups.length > 0) headers['impersonate-group'] = groups;
  // Characters that a header name cannot contain are escaped, as client-go does.
  for (const [key, values] of Object.entries(extra))
    headers[`impersonate-extra-${encodeURIComponent(key).toLowerCase()}`] = values;
  return headers;
}
