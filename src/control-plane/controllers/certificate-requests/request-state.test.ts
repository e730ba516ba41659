import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CertificateSigningRequest } from '../../../api/certificates/certificate-signing-request.ts';
import { isApproved, isDenied, isFailed, isIssued, removableAtMs } from './request-state.ts';

const HOUR_MS = 3_600_000;
const CREATED_MS = Date.parse('2026-01-01T00:00:00Z');
const answeredAt = (hour: number): string => new Date(CREATED_MS + hour * HOUR_MS).toISOString();

interface Given {
  readonly conditions?: readonly { readonly type: string; readonly hour?: number }[];
  readonly certificate?: string;
  readonly created?: boolean;
}

const request = ({ conditions, certificate, created = true }: Given = {}): CertificateSigningRequest => ({
  metadata: { name: 'r', namespace: '', uid: 'r', ...(created && { creationTimestamp: '2026-01-01T00:00:00Z' }) },
  spec: { request: '', signerName: 'kubernetes.io/kubelet-serving', usages: [] },
  ...((conditions !== undefined || certificate !== undefined) && {
    status: {
      ...(certificate !== undefined && { certificate }),
      ...(conditions !== undefined && {
        conditions: conditions.map(({ type, hour }) => ({
          ...{ type, status: 'True' as const },
          ...(hour !== undefined && { lastUpdateTime: answeredAt(hour) }),
        })),
      }),
    },
  }),
});

describe('when a request is removed, in hours after it was made', () => {
  const removed = (given: Given, expiresHour?: number): number =>
    (removableAtMs(request(given), expiresHour === undefined ? undefined : CREATED_MS + expiresHour * HOUR_MS) -
      CREATED_MS) /
    HOUR_MS;

  for (const [name, given, expires, expected] of [
    ['a day without an answer', {}, undefined, 24],
    ['an hour after it was denied', { conditions: [{ type: 'Denied', hour: 3 }] }, undefined, 4],
    ['an hour after it failed', { conditions: [{ type: 'Failed', hour: 3 }] }, undefined, 4],
    [
      'an hour after it was approved and issued',
      { conditions: [{ type: 'Approved', hour: 3 }], certificate: 'eA==' },
      undefined,
      4,
    ],
    ['a day while it is approved and not issued', { conditions: [{ type: 'Approved', hour: 3 }] }, undefined, 24],
    [
      'a day with a condition of another type',
      { conditions: [{ type: 'Own', hour: 3 }], certificate: 'eA==' },
      undefined,
      24,
    ],
    ['an hour after it was made where the answer has no time', { conditions: [{ type: 'Denied' }] }, undefined, 1],
    [
      'an hour after its first answer',
      {
        conditions: [
          { type: 'Denied', hour: 5 },
          { type: 'Failed', hour: 3 },
        ],
      },
      undefined,
      4,
    ],
    ['when its certificate ends', { conditions: [{ type: 'Approved', hour: 3 }], certificate: 'eA==' }, 2, 2],
    ['a day at most, however late it was answered', { conditions: [{ type: 'Denied', hour: 40 }] }, 99, 24],
  ] as const)
    it(name, () => assert.equal(removed(given, expires), expected));

  it('is at once where it does not say when it was made', () => {
    assert.equal(removableAtMs(request({ created: false }), undefined), 24 * HOUR_MS);
  });
});

it('the state of a request follows from its conditions and its certificate', () => {
  const states = (given: Given): boolean[] =>
    [isApproved, isDenied, isFailed, isIssued].map((is) => is(request(given)));
  assert.deepEqual(states({}), [false, false, false, false]);
  assert.deepEqual(states({ conditions: [], certificate: '' }), [false, false, false, false]);
  assert.deepEqual(states({ conditions: [{ type: 'Approved' }] }), [true, false, false, false]);
  assert.deepEqual(states({ conditions: [{ type: 'Denied' }, { type: 'Failed' }] }), [false, true, true, false]);
  assert.deepEqual(states({ certificate: 'eA==' }), [false, false, false, true]);
});
