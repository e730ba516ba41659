import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { CertificateState } from './certificate-state.ts';
import { certificatePhase } from './certificate-state.ts';

it('a certificate has the phase of upstream, and keeps its phase while the next is requested', () => {
  const current = { key: 'k', chain: 'c', refreshAtMs: 1_000_000, notAfterMs: 9_000_000 };
  const pending = { name: 'req', key: 'k2' };
  const phase = (state: CertificateState, nowMs = 0): string => certificatePhase(state, nowMs);
  const refused = { kind: 'refused', reason: '', message: '' } as const;
  assert.deepEqual(
    [
      phase({ kind: 'nothing' }),
      phase({ kind: 'requested', pending, current: undefined }, 99_000_000),
      phase({ ...refused, verdict: 'Denied' }),
      phase({ ...refused, verdict: 'Failed' }),
    ],
    ['not_yet_issued', 'not_yet_issued', 'denied', 'failed'],
  );
  for (const state of [
    { kind: 'issued', current },
    { kind: 'requested', pending, current },
  ] as const)
    assert.deepEqual(
      [1_600_000, 1_600_001, 9_000_000, 9_000_001].map((nowMs) => phase(state, nowMs)),
      ['fresh', 'overdue_for_refresh', 'overdue_for_refresh', 'expired'],
    );
});
