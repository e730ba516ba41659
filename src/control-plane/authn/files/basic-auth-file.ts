import { createHash, timingSafeEqual } from 'node:crypto';
import type { AuthenticationResult, Authenticator, UserInfo } from '../../model/user-info.ts';
import { parseCsv } from './csv-records.ts';
import { splitGroups, tooFew } from './token-file.ts';

export interface PasswordEntry {
  readonly digest: Buffer;
  readonly user: UserInfo;
}
export type PasswordTable = ReadonlyMap<string, PasswordEntry>;

const digestOf = (secret: string): Buffer => createHash('sha256').update(secret).digest();

/**
 * Parses lines `password,user,uid,"group1,group2"` (--basic-auth-file, which upstream had until 1.18). Throws `Invalid`
 * with the line.
 */
export function parseBasicAuthFile(file: string, content: string): PasswordTable {
  const table = new Map<string, PasswordEntry>();
  for (const { line, fields } of parseCsv(file, content)) {
    const [password = '', name = '', uid = '', groups] = fields;
    if (fields.length < 3) throw tooFew(file, line, 'password, user name, user uid', fields.length);
    table.set(name, { digest: digestOf(password), user: { name, uid, groups: splitGroups(groups) } });
  }
  return table;
}

const unknownUser: PasswordEntry = { digest: digestOf(''), user: { name: '', groups: [] } };

/** Authenticates `Authorization: Basic`. Wrong passwords and unknown users give the same result in the same time. */
export function createBasicAuthenticator(table: () => PasswordTable): Authenticator {
  return {
    name: 'basic auth file',
    authenticate: ({ authorization }) =>
      Promise.resolve(authorization === undefined ? { outcome: 'none' } : check(table(), authorization)),
  };
}

function check(table: PasswordTable, authorization: string): AuthenticationResult {
  const encoded = /^Basic +([A-Za-z0-9+/=]+) *$/i.exec(authorization)?.[1];
  if (encoded === undefined) return { outcome: 'none' };
  const text = Buffer.from(encoded, 'base64').toString();
  const colon = text.indexOf(':');
  const found = colon < 0 ? undefined : table.get(text.slice(0, colon));
  const isRight = timingSafeEqual((found ?? unknownUser).digest, digestOf(text.slice(colon + 1)));
  if (found === undefined || !isRight) return { outcome: 'failed', error: 'invalid username/password combination' };
  return { outcome: 'user', user: found.user };
}
