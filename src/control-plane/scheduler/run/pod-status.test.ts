import assert from 'node:assert/strict';
import { it } from 'node:test';
import { buildPod } from '../testing/builders.ts';
import { computeStatusPatch, foldStatus, truncateNote } from './pod-status.ts';

const nowMs = Date.UTC(2026, 0, 2);
const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no room' } as const;
const pending = (message: string): ReturnType<typeof buildPod> =>
  buildPod('x', {
    metadata: { generation: 3 },
    status: {
      conditions: [{ ...condition, message, observedGeneration: 3, lastTransitionTime: '2026-01-01T00:00:00Z' }],
      nominatedNodeName: 'a',
    },
  });

it('writes nothing if the status has the content already', () => {
  assert.equal(computeStatusPatch(pending('no room'), { condition, nominatedNodeName: 'a' }, nowMs), undefined);
});

it('keeps the transition time if only the message changes, and identifies the pod by its UID', () => {
  assert.deepEqual(computeStatusPatch(pending('other'), { condition }, nowMs), {
    type: 'strategic',
    body: {
      metadata: { uid: 'uid-x' },
      status: { conditions: [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z', observedGeneration: 3 }] },
    },
  });
  assert.deepEqual(computeStatusPatch(buildPod('x'), { condition }, nowMs)?.body, {
    metadata: { uid: 'uid-x' },
    status: { conditions: [{ ...condition, lastTransitionTime: '2026-01-02T00:00:00Z' }] },
  });
});

it('removes a nomination', () => {
  assert.deepEqual(computeStatusPatch(pending('no room'), { condition, nominatedNodeName: '' }, nowMs)?.body, {
    metadata: { uid: 'uid-x' },
    status: { nominatedNodeName: null },
  });
});

it('lets a later status replace only the fields that it sets', () => {
  assert.deepEqual(foldStatus({ condition, nominatedNodeName: 'a' }, { nominatedNodeName: '' }), {
    condition,
    nominatedNodeName: '',
  });
});

it('truncates notes to the limit of events', () => {
  assert.deepEqual(
    [truncateNote('short'), truncateNote('x'.repeat(2000)).length, truncateNote('x'.repeat(2000)).endsWith('x ...')],
    ['short', 1024, true],
  );
});
