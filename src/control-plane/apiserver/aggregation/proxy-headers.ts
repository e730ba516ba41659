import type { UserInfo } from '../../model/user-info.ts';

const USER = 'x-remote-user';
const UID = 'x-remote-uid';
const GROUP = 'x-remote-group';
const EXTRA_PREFIX = 'x-remote-extra-';

/** Whether only a front proxy may set the header. Such headers are removed from requests of clients. */
export const isIdentityHeader = (name: string): boolean => name.startsWith('x-remote-');

/** Returns the headers that identify the user to an aggregated server (upstream: transport.SetAuthProxyHeaders). */
export function identityHeaders({ name, uid, groups, extra = {} }: UserInfo): Record<string, readonly string[]> {
  const headers: Record<string, readonly string[]> = { [USER]: [oneLine(name)] };
  if (uid !== undefined && uid !== '') headers[UID] = [oneLine(uid)];
  if (groups.length > 0) headers[GROUP] = groups.map(oneLine);
  for (const [key, values] of Object.entries(extra))
    headers[`${EXTRA_PREFIX}${escapeKey(key)}`] = values.map((value) => oneLine(value));
  return headers;
}

/** Removes bytes that would end the header. Node sends Latin-1, which carries UTF-8 bytes unchanged. */
function oneLine(value: string): string {
  return Buffer.from(value.replaceAll(/[\u0000-\u001f\u007f]/g, ' '), 'utf8').toString('latin1');
}

const plain = /[!#$&'*+\-.^_`|~0-9A-Za-z]/;

/** Escapes a key, because keys become part of header names (upstream: headerKeyEscape). */
function escapeKey(key: string): string {
  return [...Buffer.from(key, 'utf8')]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return plain.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}
