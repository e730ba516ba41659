import { createHash, timingSafeEqual } from 'node:crypto';
import { secrets } from '../../api/client/resource-types.ts';
import type { Secret } from '../../api/core/secret.ts';
import type { Logger } from '../../base/log.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import type { TokenAuthenticator, UserInfo } from '../model/user-info.ts';

const pattern = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;
const groupPattern = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

export interface BootstrapTokenOptions {
  readonly reader: ObjectReader;
  readonly nowMs: () => number;
  readonly log: Logger;
}

/**
 * Authenticates tokens of joining nodes: `id.secret`, stored in the Secret `bootstrap-token-id` of kube-system
 * (--enable-bootstrap-token-auth).
 */
export function createBootstrapTokenAuthenticator({ reader, nowMs, log }: BootstrapTokenOptions): TokenAuthenticator {
  return {
    name: 'bootstrap token',
    authenticateToken: (token) => {
      const [, id, part] = pattern.exec(token) ?? [];
      const secret =
        id === undefined ? undefined : reader.get(secrets, { namespace: 'kube-system', name: `bootstrap-token-${id}` });
      if (id === undefined || part === undefined || secret === undefined) return Promise.resolve({ outcome: 'none' });
      const judged = judgeBootstrapSecret(secret, { id, part, nowMs: nowMs() });
      if (typeof judged !== 'string') return Promise.resolve({ outcome: 'user', user: judged });
      // Only logged, so that clients cannot find out which ids exist.
      log.debug(3, 'a bootstrap token is not accepted', { secret: secret.metadata.name, why: judged });
      return Promise.resolve({ outcome: 'none' });
    },
  };
}

/** The user of a token, or the problem with its Secret. */
export function judgeBootstrapSecret(
  secret: Secret,
  token: { readonly id: string; readonly part: string; readonly nowMs: number },
): UserInfo | string {
  const value = (key: string): string => Buffer.from(secret.data?.[key] ?? '', 'base64').toString();
  if (secret.metadata.deletionTimestamp !== undefined) return 'is deleted and awaiting removal';
  if (secret.type !== 'bootstrap.kubernetes.io/token')
    return 'has invalid type, expected bootstrap.kubernetes.io/token.';
  if (!isSame(value('token-secret'), token.part)) return 'has invalid value for key token-secret.';
  if (value('token-id') !== token.id) return 'has invalid value for key token-id.';
  const expiration = value('expiration');
  if (expiration !== '' && !(Date.parse(expiration) > token.nowMs)) return 'has expired';
  if (value('usage-bootstrap-authentication') !== 'true') return 'not marked usage-bootstrap-authentication=true.';
  const extra = value('auth-extra-groups');
  const groups = extra === '' ? [] : extra.split(',');
  const bad = groups.find((group) => !groupPattern.test(group));
  if (bad !== undefined)
    return `has invalid value for key auth-extra-groups: bootstrap group ${JSON.stringify(bad)} is invalid`;
  return { name: `system:bootstrap:${token.id}`, groups: [...new Set(['system:bootstrappers', ...groups])].sort() };
}

function isSame(left: string, right: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(left), digest(right));
}
