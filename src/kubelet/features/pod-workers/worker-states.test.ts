import assert from 'node:assert/strict';
import { it } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { podUid } from '../../model/ids.ts';
import type { WorkerState } from './worker-state.ts';
import { WorkerStates } from './worker-states.ts';

const [a, b] = [podUid('a'), podUid('b')];
const syncing: WorkerState = { phase: 'syncing', pod: buildPod() };
const queued: WorkerState = { phase: 'queued', pod: buildPod() };

it('a worker keeps the state that was set last, until it is deleted', () => {
  const states = new WorkerStates();
  assert.equal(states.get(a), undefined);
  states.set(a, queued);
  states.set(a, syncing);
  states.set(b, queued);
  assert.deepEqual([states.get(a), states.get(b)], [syncing, queued]);
  states.delete(a);
  assert.deepEqual([states.get(a), states.get(b)], [undefined, queued]);
});

it('a list of states does not change while its reader changes workers', () => {
  const states = new WorkerStates();
  states.set(a, syncing);
  const known = states.known();
  states.set(a, queued);
  states.set(b, queued);
  states.delete(a);
  assert.deepEqual([...known], [[a, syncing]]);
  assert.deepEqual([...states.known()], [[b, queued]]);
});
