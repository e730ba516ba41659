import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodCertificateRequest } from '../../../api/certificates/pod-certificate-request.ts';
import { toPem } from '../../../pki/pem.ts';
import type { CertificateState } from './certificate-state.ts';
import { certificatePhase, nextCertificateState } from './certificate-state.ts';

const current = { key: 'k', chain: 'c', refreshAtMs: 1_000_000, notAfterMs: 9_000_000 };
const pending = { name: 'req', key: 'k2' };
const first: CertificateState = { kind: 'requested', pending, current: undefined };
const renewal: CertificateState = { kind: 'requested', pending, current };

it('a certificate has the phase of upstream, and keeps its phase while the next is requested', () => {
  const phase = (state: CertificateState, nowMs = 0): string => certificatePhase(state, nowMs);
  const refused = { kind: 'refused', reason: '', message: '' } as const;
  assert.deepEqual(
    [
      phase({ kind: 'nothing' }),
      phase(first, 99_000_000),
      phase({ ...refused, verdict: 'Denied' }),
      phase({ ...refused, verdict: 'Failed' }),
    ],
    ['not_yet_issued', 'not_yet_issued', 'denied', 'failed'],
  );
  for (const state of [{ kind: 'issued', current }, renewal] as const)
    assert.deepEqual(
      [1_600_000, 1_600_001, 9_000_000, 9_000_001].map((nowMs) => phase(state, nowMs)),
      ['fresh', 'overdue_for_refresh', 'overdue_for_refresh', 'expired'],
    );
});

describe('a requested certificate', () => {
  type Status = NonNullable<PodCertificateRequest['status']>;
  const answered = (types: readonly string[], status: Partial<Status> = {}): PodCertificateRequest =>
    ({
      metadata: { name: 'req', namespace: 'default', uid: 'u' },
      status: {
        conditions: types.map((type) => ({ type, status: 'True', reason: `is${type}`, message: `was ${type}` })),
        ...status,
      },
    }) as unknown as PodCertificateRequest;
  const chain = toPem('CERTIFICATE', Buffer.from('leaf')) + toPem('CERTIFICATE', Buffer.from('root'));
  const issued = {
    certificateChain: `made for tests\n${chain}`,
    beginRefreshAt: '2026-01-01T00:00:00Z',
    notAfter: '2026-01-02T00:00:00Z',
  };
  const beginMs = Date.parse(issued.beginRefreshAt);

  it('is in use with the key of its request, and without comments around its blocks', () => {
    const status = { certificateChain: issued.certificateChain, notAfter: issued.notAfter };
    assert.deepEqual(nextCertificateState(renewal, answered(['Issued'], { ...issued, ...status }), 0), {
      kind: 'issued',
      current: { key: 'k2', chain, refreshAtMs: beginMs, notAfterMs: Date.parse(issued.notAfter) },
    });
  });

  it('is renewed up to five minutes late, and at its end when the signer names no earlier time', () => {
    const refreshAt = (status: Partial<Status>, chance: number): number | undefined => {
      const next = nextCertificateState(first, answered(['Issued'], status), chance);
      return next.kind === 'issued' ? next.current.refreshAtMs : undefined;
    };
    assert.equal(refreshAt(issued, 0.5), beginMs + 150_000);
    assert.equal(refreshAt({ ...issued, beginRefreshAt: undefined }, 0), Date.parse(issued.notAfter));
    assert.equal(refreshAt({ certificateChain: '' }, 0), 0);
  });

  it('is refused with the words of the signer', () => {
    for (const verdict of ['Denied', 'Failed'] as const)
      assert.deepEqual(nextCertificateState(renewal, answered([verdict], issued), 0), {
        kind: 'refused',
        verdict,
        reason: `is${verdict}`,
        message: `was ${verdict}`,
      });
  });

  it('stays requested until a condition that counts is set', () => {
    assert.equal(nextCertificateState(first, answered([]), 0), first);
    assert.equal(nextCertificateState(first, answered(['SuggestedKeyType'], issued), 0), first);
    assert.equal(nextCertificateState(first, { ...answered([]), status: undefined }, 0), first);
    assert.equal(nextCertificateState(first, answered(['SuggestedKeyType', 'Issued'], issued), 0).kind, 'issued');
  });

  it('falls back to the certificate in use when its request was deleted', () => {
    assert.deepEqual(nextCertificateState(first, undefined, 0), { kind: 'nothing' });
    assert.deepEqual(nextCertificateState(renewal, undefined, 0), { kind: 'issued', current });
  });

  it('is the only one that an answer changes', () => {
    const refused: CertificateState = { kind: 'refused', verdict: 'Denied', reason: '', message: '' };
    for (const state of [{ kind: 'nothing' }, { kind: 'issued', current }, refused] as const) {
      assert.equal(nextCertificateState(state, answered(['Issued'], issued), 0), state);
      assert.equal(nextCertificateState(state, undefined, 0), state);
    }
  });
});
