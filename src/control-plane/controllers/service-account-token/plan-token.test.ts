import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Secret } from '../../../api/core/secret.ts';
import type { ServiceAccount } from '../../../api/core/service-account.ts';
import { filledSecret, planToken } from './plan-token.ts';

const account: ServiceAccount = { metadata: { name: 'app', namespace: 'default', uid: 'sa-1' } };
const NAME = { 'kubernetes.io/service-account.name': 'app' };
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const full = { token: 'dA==', namespace: base64('default'), 'ca.crt': base64('CA') };

const secret = (data?: Record<string, string>, metadata: object = {}): Secret => ({
  metadata: { name: 's', namespace: 'default', uid: 's', annotations: NAME, ...metadata },
  type: 'kubernetes.io/service-account-token',
  ...(data !== undefined && { data }),
});

describe('a token Secret', () => {
  it('gets its missing data', () => {
    const data = { 'ca.crt': full['ca.crt'], namespace: full.namespace };
    assert.deepEqual(planToken(secret(), account, 'CA'), { kind: 'fill', needsToken: true, data });
    assert.deepEqual(planToken(secret({ ...full, token: '' }), account, 'CA'), {
      kind: 'fill',
      needsToken: true,
      data: {},
    });
    const { namespace: _, ...without } = full;
    assert.deepEqual(planToken(secret(without), account, 'CA'), {
      kind: 'fill',
      needsToken: false,
      data: { namespace: full.namespace },
    });
    assert.deepEqual(planToken(secret({ ...full, namespace: '' }), account, 'CA').kind, 'fill');
  });

  it("gets the cluster's new CA certificates, and keeps its own while there are none", () => {
    assert.deepEqual(planToken(secret(full), account, 'CA'), { kind: 'nothing' });
    assert.deepEqual(planToken(secret(full), account, 'new'), {
      kind: 'fill',
      needsToken: false,
      data: { 'ca.crt': base64('new') },
    });
    assert.deepEqual(planToken(secret(full), account, ''), { kind: 'nothing' });
  });

  it('is deleted with its account, and if it belongs to an earlier account of the same name', () => {
    assert.deepEqual(planToken(secret(full), undefined, 'CA'), { kind: 'delete' });
    const earlier = { annotations: { ...NAME, 'kubernetes.io/service-account.uid': 'sa-0' } };
    assert.deepEqual(planToken(secret(full, earlier), account, 'CA'), { kind: 'delete' });
    assert.deepEqual(planToken(secret(full, { deletionTimestamp: '2026-01-01T00:00:00Z' }), undefined, 'CA'), {
      kind: 'nothing',
    });
  });

  it('names its account, and keeps other fields', () => {
    const filled = filledSecret(secret({ own: 'eA==' }, { annotations: { own: 'x' } }), account, { token: 'dA==' });
    assert.deepEqual(filled.metadata.annotations, { own: 'x', ...NAME, 'kubernetes.io/service-account.uid': 'sa-1' });
    assert.deepEqual(filled.data, { own: 'eA==', token: 'dA==' });
  });
});
