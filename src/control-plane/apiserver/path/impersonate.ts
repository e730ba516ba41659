import { badRequest } from '../../../api/status/api-status-error.ts';
import type { Authorizer, UserInfo } from '../../model/user-info.ts';
import { headerOf, headersOf } from '../http/http-request.ts';
import type { HeaderMap } from '../http/http-request.ts';
import { requireAllowed } from './authorize.ts';

/** A permission that impersonation needs. */
interface Asked {
  readonly apiGroup: string;
  readonly apiVersion: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

export interface Impersonation {
  readonly user: UserInfo;
  readonly asked: readonly Asked[];
}

const EXTRA_PREFIX = 'impersonate-extra-';

/**
 * Reads the user in the `Impersonate-*` headers and the required permissions. Returns undefined without such headers.
 */
export function readImpersonation(headers: HeaderMap): Impersonation | undefined {
  const name = headerOf(headers, 'impersonate-user') ?? '';
  const groups = headersOf(headers, 'impersonate-group').flatMap(splitHeader);
  const uid = headerOf(headers, 'impersonate-uid') ?? '';
  const extra = readExtra(headers);
  if (name === '') {
    if (groups.length === 0 && uid === '' && Object.keys(extra).length === 0) return undefined;
    const listed = [...groups, ...Object.values(extra).flat(), ...(uid === '' ? [] : [uid])];
    throw badRequest(`requested [${listed.join(' ')}] without impersonating a user`);
  }
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name);
  const [, namespace = '', accountName = ''] = account ?? [];
  const asked: Asked[] = [
    ask(account === null ? 'users' : 'serviceaccounts', account === null ? name : accountName, { namespace }),
  ];
  for (const group of groups) asked.push(ask('groups', group));
  for (const [key, values] of Object.entries(extra))
    for (const value of values) asked.push(ask('userextras', value, { ...authentication, subresource: key }));
  if (uid !== '') asked.push(ask('uids', uid, authentication));
  const given =
    groups.length > 0 || account === null ? groups : ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
  return {
    user: {
      name,
      groups: withImpliedGroup(name, given),
      ...(uid !== '' && { uid }),
      ...(Object.keys(extra).length > 0 && { extra }),
    },
    asked,
  };
}

const authentication = { apiGroup: 'authentication.k8s.io', apiVersion: 'v1' };

const ask = (resource: string, name: string, rest: Partial<Asked> = {}): Asked => ({
  apiGroup: '',
  apiVersion: '',
  subresource: '',
  namespace: '',
  ...rest,
  resource,
  name,
});

/**
 * Splits a header. Node joins headers sent twice with a comma; groups with a comma in their name cannot be
 * distinguished from that.
 */
const splitHeader = (value: string): readonly string[] => value.split(/,\s*/).filter((each) => each !== '');

function readExtra(headers: HeaderMap): Record<string, readonly string[]> {
  const extra: Record<string, readonly string[]> = Object.create(null) as Record<string, readonly string[]>;
  for (const header of Object.keys(headers)) {
    if (!header.startsWith(EXTRA_PREFIX)) continue;
    extra[unescapeKey(header.slice(EXTRA_PREFIX.length))] = headersOf(headers, header).flatMap(splitHeader);
  }
  return extra;
}

function unescapeKey(encoded: string): string {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return encoded;
  }
}

function withImpliedGroup(name: string, groups: readonly string[]): readonly string[] {
  if (name === 'system:anonymous')
    return groups.includes('system:unauthenticated') ? groups : [...groups, 'system:unauthenticated'];
  return groups.includes('system:authenticated') || groups.includes('system:unauthenticated')
    ? groups
    : [...groups, 'system:authenticated'];
}

/** Requires that `user` has the verb `impersonate` for each requested attribute. */
export async function authorizeImpersonation(
  user: UserInfo,
  { asked }: Impersonation,
  authorizer: Authorizer,
): Promise<void> {
  for (const each of asked) {
    await requireAllowed(authorizer, { user, verb: 'impersonate', resourceRequest: true, path: '', ...each });
  }
}
