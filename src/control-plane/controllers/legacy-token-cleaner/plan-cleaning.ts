import type { ConfigMap } from '../../../api/core/config-map.ts';
import type { Secret } from '../../../api/core/secret.ts';
import type { ServiceAccount } from '../../../api/core/service-account.ts';
import { dayOf, isTokenOf, isTokenSecret, legacyToken, parseDay } from '../../../api/legacy-token.ts';
import { parseTime } from '../../../api/time.ts';

const DAY_MS = 86_400_000;

export interface CleaningFacts {
  /** The ConfigMap whose label has the date since which use is recorded. */
  readonly tracker: ConfigMap | undefined;
  readonly secrets: readonly Secret[];
  readonly accountOf: (secret: Secret) => ServiceAccount | undefined;
  /** Whether a pod mounts the Secret. */
  readonly isMounted: (secret: Secret) => boolean;
  /**
   * The period without use before a token is marked as invalid, and again before it is deleted (upstream:
   * --legacy-service-account-token-clean-up-period).
   */
  readonly cleanUpMs: number;
  readonly nowMs: number;
}

export interface CleaningPlan {
  readonly markInvalid: readonly Secret[];
  readonly delete: readonly Secret[];
}

/** Unused auto-generated tokens: first marked as invalid, then deleted (upstream: evaluateSATokens). */
export function planCleaning(facts: CleaningFacts): CleaningPlan {
  const { tracker, cleanUpMs, nowMs } = facts;
  const sinceMs = parseDay(tracker?.data?.[legacyToken.trackerKey]);
  // On the first day, use is recorded only for a part of the day.
  if (sinceMs === undefined || nowMs < sinceMs + DAY_MS + cleanUpMs) return { markInvalid: [], delete: [] };
  const [markInvalid, remove]: [Secret[], Secret[]] = [[], []];
  const lastKeptDay = dayOf(nowMs - cleanUpMs);
  for (const secret of facts.secrets) {
    if (!isUnused(secret, facts, lastKeptDay)) continue;
    const invalidSince = secret.metadata.labels?.[legacyToken.invalidSince];
    if (parseDay(invalidSince) === undefined) markInvalid.push(secret);
    else if ((invalidSince ?? '') < lastKeptDay) remove.push(secret);
  }
  return { markInvalid, delete: remove };
}

function isUnused(
  secret: Secret,
  { accountOf, isMounted, cleanUpMs, nowMs }: CleaningFacts,
  lastKeptDay: string,
): boolean {
  const { creationTimestamp, deletionTimestamp, labels, name } = secret.metadata;
  if (!isTokenSecret(secret) || deletionTimestamp !== undefined) return false;
  if ((parseTime(creationTimestamp) ?? 0) >= nowMs - cleanUpMs) return false;
  const lastUsed = labels?.[legacyToken.lastUsed];
  // An invalid date cannot be evaluated.
  if (lastUsed !== undefined && (parseDay(lastUsed) === undefined || lastUsed >= lastKeptDay)) return false;
  const account = accountOf(secret);
  // Only auto-generated Secrets are listed in their service account.
  const isGenerated =
    isTokenOf(secret, account) && (account.secrets ?? []).some((reference) => reference.name === name);
  return isGenerated && !isMounted(secret);
}
