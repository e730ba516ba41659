import type { UserInfo } from '../../model/user-info.ts';

const USER = 'x-remote-user';
const UID = 'x-remote-uid';
const GROUP = 'x-remote-group';
const EXTRA_PREFIX = 'x-remote-extra-';

/** What only a front proxy may say: a client's own words of it go no further. */
export const isIdentityHeader = (name: string): boolean => name.startsWith('x-remote-');

/** Who asks, for a server that believes this one (upstream: transport.SetAuthProxyHeaders). */
export function identityHeaders({ name, uid, groups, extra = {} }: UserInfo): Record<string, readonly string[]> {
  const headers: Record<string, readonly string[]> = { [USER]: [oneLine(name)] };
  if (uid !== undefined && uid !== '') headers[UID] = [oneLine(uid)];
  if (groups.length > 0) headers[GROUP] = groups.map(oneLine);
  for (const [key, values] of Object.entries(extra))
    headers[`${EXTRA_PREFIX}${escapeKey(key)}`] = values.map((value) => oneLine(value));
  return headers;
}

/** Bytes that a header cannot hold would end it; Node sends Latin-1, in which UTF-8 goes as it is. */
function oneLine(value: string): string {
  return Buffer.from(value.replaceAll(/[\u0000-\u001f\u007f]/g, ' '), 'utf8').toString('latin1');
}

const plain = /[!#$&'*+\-.^_`|~0-9A-Za-z]/;

/** Keys are parts of the names of headers: other bytes are escaped (upstream: headerKeyEscape). */
function escapeKey(key: string): string {
  return [...Buffer.from(key, 'utf8')]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return plain.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}
