import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodView } from './progress.ts';
import { allSettled, computeRows, podNames, renderChanges, renderTable } from './progress.ts';

const ready: PodView = {
  metadata: { name: 'web-node' },
  status: {
    phase: 'Running',
    podIP: '10.84.0.2',
    conditions: [{ type: 'Ready', status: 'True' }],
    containerStatuses: [{ name: 'a', ready: true, restartCount: 2, state: { running: {} } }],
  },
};

test('a pod is settled when it is Ready or has succeeded; it is found although the node name is appended', () => {
  const rows = computeRows(
    ['web', 'job', 'new'],
    [ready, { metadata: { name: 'job' }, status: { phase: 'Succeeded' } }],
  );
  assert.deepEqual(
    rows.map((row) => [row.name, row.settled, row.ready, row.state, row.restarts]),
    [
      ['web', true, '1/1', 'Ready', 2],
      ['job', true, '0/0', 'Succeeded', 0],
      ['new', false, '-', 'not seen yet', 0],
    ],
  );
  assert.equal(allSettled(rows), false);
});

test('a waiting container shows its reason instead of Pending', () => {
  const pod = (state: object): PodView => ({
    metadata: { name: 'p' },
    status: { phase: 'Pending', containerStatuses: [{ name: 'a', state }] },
  });
  const stateOf = (state: object) => computeRows(['p'], [pod(state)])[0]?.state;
  assert.equal(stateOf({ waiting: { reason: 'ImagePullBackOff' } }), 'ImagePullBackOff');
  assert.equal(stateOf({ waiting: { reason: 'PodInitializing' } }), 'Pending');
  assert.equal(stateOf({ terminated: { reason: 'Error', exitCode: 1 } }), 'Error');
  assert.equal(stateOf({ terminated: { reason: 'Completed', exitCode: 0 } }), 'Pending');
});

test('without a terminal only changes are printed', () => {
  const before = computeRows(['web', 'new'], []);
  const after = computeRows(['web', 'new'], [ready]);
  assert.deepEqual(renderChanges(before, after), ['web: Ready, 1/1 ready, 2 restarts, 10.84.0.2']);
  assert.deepEqual(renderChanges(after, after), []);
});

test('the table is aligned and has no trailing blanks', () => {
  assert.deepEqual(renderTable(computeRows(['web'], [ready])), [
    'POD  READY  STATE  RESTARTS  IP         WHY',
    'web  1/1    Ready  2         10.84.0.2',
  ]);
});

test('pods are found in many documents and in lists, among other objects', () => {
  assert.deepEqual(
    podNames([
      { kind: 'Pod', metadata: { name: 'a' } },
      null,
      'x',
      { kind: 'Secret', metadata: { name: 's' } },
      { kind: 'List', items: [{ kind: 'Pod', metadata: { name: 'b' } }] },
    ]),
    ['a', 'b'],
  );
});

test("the line of a pod that is not ready shows the agent's first cause; that of a ready pod shows none", () => {
  const pending: PodView = { metadata: { name: 'web-node' }, status: { phase: 'Pending' } };
  const causes = [{ name: 'web-node', blockers: [{ cause: 'pulling' }, { cause: 'later' }] }];
  assert.equal(computeRows(['web'], [pending], causes)[0]?.why, 'pulling');
  assert.equal(computeRows(['web'], [ready], causes)[0]?.why, '');
});
