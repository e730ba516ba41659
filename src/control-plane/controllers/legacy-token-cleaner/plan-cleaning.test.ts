import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Secret } from '../../../api/core/secret.ts';
import type { ServiceAccount } from '../../../api/core/service-account.ts';
import { planCleaning } from './plan-cleaning.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.parse('2026-03-10T12:00:00Z');

interface Given {
  /** The date since which use is recorded. */
  readonly since?: string | undefined;
  readonly created?: string | undefined;
  readonly leaving?: boolean;
  readonly type?: string;
  readonly lastUsed?: string;
  readonly invalidSince?: string;
  /** Whether the account names the Secret. */
  readonly named?: boolean;
  readonly accountUid?: string;
  readonly mounted?: boolean;
}

/** Returns the result for one token after ten days without use: `keep`, `mark` or `delete`. */
function cleaned(given: Given): string {
  const { since = '2026-01-01', created = '2026-01-01T00:00:00Z', lastUsed, invalidSince, named = true } = given;
  const secret: Secret = {
    metadata: {
      ...{ name: 's', namespace: 'default', uid: 's' },
      ...('created' in given && created === undefined ? {} : { creationTimestamp: created }),
      ...(given.leaving === true && { deletionTimestamp: created }),
      labels: {
        ...(lastUsed !== undefined && { 'kubernetes.io/legacy-token-last-used': lastUsed }),
        ...(invalidSince !== undefined && { 'kubernetes.io/legacy-token-invalid-since': invalidSince }),
      },
      annotations: { 'kubernetes.io/service-account.name': 'app', 'kubernetes.io/service-account.uid': 'sa-1' },
    },
    type: given.type ?? 'kubernetes.io/service-account-token',
  };
  const account: ServiceAccount = {
    metadata: { name: 'app', namespace: 'default', uid: given.accountUid ?? 'sa-1' },
    ...(named && { secrets: [{ name: 'other' }, { name: 's' }] }),
  };
  const tracker = { metadata: { name: 't', namespace: 'kube-system', uid: 't' }, data: { since } };
  const plan = planCleaning({
    tracker: 'since' in given && given.since === undefined ? undefined : tracker,
    secrets: [secret],
    accountOf: () => account,
    isMounted: () => given.mounted === true,
    cleanUpMs: 10 * DAY_MS,
    nowMs: NOW_MS,
  });
  if (plan.delete.length > 0) return 'delete';
  return plan.markInvalid.length > 0 ? 'mark' : 'keep';
}

describe('a generated token of an account', () => {
  it('is marked as invalid after the period without use', () => {
    assert.equal(cleaned({}), 'mark');
    assert.equal(cleaned({ lastUsed: '2026-02-27' }), 'mark');
    assert.equal(cleaned({ lastUsed: '2026-02-28' }), 'keep');
    assert.equal(cleaned({ lastUsed: 'lately' }), 'keep');
  });

  it('is kept until use has been recorded for the whole period', () => {
    assert.equal(cleaned({ since: undefined }), 'keep');
    assert.equal(cleaned({ since: 'x' }), 'keep');
    assert.equal(cleaned({ since: '2026-02-27' }), 'mark');
    assert.equal(cleaned({ since: '2026-02-28' }), 'keep');
  });

  it('is kept if it is new, is being deleted, is mounted by a pod, or is another kind of Secret', () => {
    assert.equal(cleaned({ created: '2026-02-28T12:00:00Z' }), 'keep');
    assert.equal(cleaned({ created: '2026-02-28T11:59:59Z' }), 'mark');
    assert.equal(cleaned({ created: undefined }), 'mark');
    assert.equal(cleaned({ leaving: true }), 'keep');
    assert.equal(cleaned({ mounted: true }), 'keep');
    assert.equal(cleaned({ type: 'Opaque' }), 'keep');
  });

  it('is kept if a user created it, or if it belongs to an earlier account', () => {
    assert.equal(cleaned({ named: false }), 'keep');
    assert.equal(cleaned({ accountUid: 'sa-2' }), 'keep');
  });

  it('is deleted after it was invalid for the period', () => {
    assert.equal(cleaned({ invalidSince: '2026-02-27' }), 'delete');
    assert.equal(cleaned({ invalidSince: '2026-02-28' }), 'keep');
    assert.equal(cleaned({ invalidSince: 'x' }), 'mark');
    assert.equal(cleaned({ invalidSince: '2026-02-27', lastUsed: '2026-03-01' }), 'keep');
  });
});
