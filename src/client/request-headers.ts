import { Buffer } from 'node:buffer';
import type { ClusterAccess } from './cluster-access.ts';

type Headers = Record<string, string | readonly string[]>;

/** What is said with a request: who asks, and what is sent. */
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
  if (token !== undefined) return `Bearer ${token}`;
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
  // What no header name may have is escaped, as client-go does.
  for (const [key, values] of Object.entries(extra))
    headers[`impersonate-extra-${encodeURIComponent(key).toLowerCase()}`] = values;
  return headers;
}
