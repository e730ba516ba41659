import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CertificateFacts } from '../../../pki/key-pair.ts';
import { decideRotation, isExpired } from './decide-rotation.ts';
import type { CertificateNamesWanted, RotationQuestion } from './decide-rotation.ts';

const wanted: CertificateNamesWanted = {
  commonName: 'system:node:n1',
  organizations: ['system:nodes'],
  dnsNames: ['n1'],
  ipAddresses: ['192.0.2.1'],
};
const current = { ...wanted, notBeforeMs: 1_000, notAfterMs: 2_000 } as CertificateFacts;
const decided = (question: Partial<RotationQuestion>): string => {
  const verdict = decideRotation({ current, wanted, chance: 0.5, nowMs: 1_000, ...question });
  return verdict.kind === 'rotate' ? `rotate: ${verdict.why}` : `wait ${verdict.untilMs ?? '-'}`;
};

describe('a certificate', () => {
  it('is due between 70 and 90 % of its life', () => {
    for (const [chance, dueMs] of [
      [0, 1_700],
      [0.5, 1_800],
      [1, 1_900],
    ] as const)
      assert.equal(decided({ chance }), `wait ${dueMs}`);
    assert.equal(decided({ nowMs: 1_799 }), 'wait 1800');
    assert.equal(decided({ nowMs: 1_800 }), 'rotate: most of its validity period has passed');
    assert.equal(decided({ nowMs: 2_000 }), 'rotate: most of its validity period has passed');
    assert.equal(decided({ nowMs: 2_001 }), 'rotate: it has expired');
  });

  it('is requested when there is none, once the names are known', () => {
    assert.equal(decided({ current: undefined }), 'rotate: there is no certificate');
    assert.equal(decided({ current: undefined, wanted: undefined }), 'wait -');
    assert.equal(decided({ wanted: undefined, nowMs: 3_000 }), 'wait -');
  });

  it('is replaced at once when it lacks a name', () => {
    const lacking = (names: Partial<CertificateNamesWanted>): string => decided({ wanted: { ...wanted, ...names } });
    assert.equal(lacking({ commonName: 'system:node:n2' }), 'rotate: it is for system:node:n1, not system:node:n2');
    assert.equal(lacking({ organizations: ['system:nodes', 'a', 'b'] }), 'rotate: it lacks the organization a, b');
    assert.equal(
      lacking({ dnsNames: ['n1', 'n2'], ipAddresses: ['192.0.2.2'] }),
      'rotate: it is not valid for n2, 192.0.2.2',
    );
  });

  it('may have more names, and other spellings of an address', () => {
    assert.equal(decided({ wanted: { ...wanted, organizations: [], dnsNames: [], ipAddresses: [] } }), 'wait 1800');
    const v6 = { ...current, ipAddresses: ['fd00::1'] } as CertificateFacts;
    assert.equal(decided({ current: v6, wanted: { ...wanted, ipAddresses: ['FD00:0:0::1'] } }), 'wait 1800');
  });

  it('has expired after its last moment, and not before its first', () => {
    assert.deepEqual(
      [500, 2_000, 2_001].map((nowMs) => isExpired(current, nowMs)),
      [false, false, true],
    );
  });
});
