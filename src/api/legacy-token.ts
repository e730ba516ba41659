import type { Secret } from './core/secret.ts';
import type { ServiceAccount } from './core/service-account.ts';

/** Labels and annotations of Secrets with tokens that do not expire, and of the ConfigMap that tracks their use. */
export const legacyToken = {
  secretType: 'kubernetes.io/service-account-token',
  /** Annotations of the Secret. */
  accountName: 'kubernetes.io/service-account.name',
  accountUid: 'kubernetes.io/service-account.uid',
  /** Labels of the Secret; dates such as 2026-01-31. */
  lastUsed: 'kubernetes.io/legacy-token-last-used',
  invalidSince: 'kubernetes.io/legacy-token-invalid-since',
  /** The ConfigMap in kube-system that records since when use is tracked. */
  trackerName: 'kube-apiserver-legacy-service-account-token-tracking',
  trackerKey: 'since',
} as const;

/** The day in UTC, in the form of the labels. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Midnight of a day such as 2026-01-31, wall milliseconds; undefined for invalid text. */
export function parseDay(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined;
  const ms = Date.parse(`${text}T00:00:00Z`);
  // Date.parse accepts days that do not exist (February 30) and returns another day.
  return Number.isNaN(ms) || dayOf(ms) !== text ? undefined : ms;
}

export const isTokenSecret = ({ type }: Secret): boolean => type === legacyToken.secretType;

/** The owner of the token: the account's name, and its uid once it is known. */
export function accountOfToken({ metadata }: Secret): { readonly name: string; readonly uid: string } {
  const { [legacyToken.accountName]: name = '', [legacyToken.accountUid]: uid = '' } = metadata.annotations ?? {};
  return { name, uid };
}

/** Whether the Secret belongs to this account and not to an earlier one with the same name. */
export function isTokenOf(secret: Secret, account: ServiceAccount | undefined): account is ServiceAccount {
  const { name, uid } = accountOfToken(secret);
  return account?.metadata.name === name && (uid === '' || uid === account.metadata.uid);
}
