import { createHash } from 'node:crypto';
import { KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { TokenAuthenticator, UserInfo } from '../../model/user-info.ts';
import { parseCsv } from './csv-records.ts';

/** Users by the digest of their token, so that the time of a lookup does not depend on how many characters match. */
export type TokenTable = ReadonlyMap<string, UserInfo>;

const digestOf = (secret: string): string => createHash('sha256').update(secret).digest('base64');

/** Parses lines `token,user,uid,"group1,group2"` (--token-auth-file). Throws `Invalid` with the line. */
export function parseTokenFile(file: string, content: string, log: Logger): TokenTable {
  const table = new Map<string, UserInfo>();
  for (const { line, fields } of parseCsv(file, content)) {
    const [token = '', name = '', uid = '', groups] = fields;
    if (fields.length < 3) throw tooFew(file, line, 'token, user name, user uid', fields.length);
    if (token === '') {
      log.warn('skipping a line of the token file without a token', { file, line });
      continue;
    }
    const digest = digestOf(token);
    if (table.has(digest)) log.warn('the token file lists a token twice; using the last line', { file, line });
    table.set(digest, { name, uid, groups: splitGroups(groups) });
  }
  return table;
}

export const splitGroups = (groups: string | undefined): readonly string[] =>
  groups === undefined || groups === '' ? [] : groups.split(',');

export function tooFew(file: string, line: number, columns: string, found: number): KubeletError {
  return new KubeletError(
    'Invalid',
    `${file}: line ${line}: must have at least 3 columns (${columns}), found ${found}`,
    { op: 'read credentials' },
  );
}

/** Authenticates tokens of a file. `table` is called each time, so that a reloaded file takes effect immediately. */
export function createTokenFileAuthenticator(table: () => TokenTable): TokenAuthenticator {
  return {
    name: 'token file',
    authenticateToken: (token) => {
      const user = table().get(digestOf(token));
      return Promise.resolve(user === undefined ? { outcome: 'none' } : { outcome: 'user', user });
    },
  };
}
