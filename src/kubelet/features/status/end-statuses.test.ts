import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container } from '../../../api/core/container.ts';
import type { ContainerState, ContainerStatus } from '../../../api/core/pod-status.ts';
import { endStatuses } from './end-statuses.ts';

const waiting: ContainerState = { waiting: { reason: 'PodInitializing' } };
const ended = (exitCode: number): ContainerState => ({ terminated: { exitCode, reason: 'Completed' } });
const unseen: ContainerState = {
  terminated: {
    exitCode: 137,
    reason: 'ContainerStatusUnknown',
    message: 'The container could not be located when the pod was terminated',
  },
};
const status = (name: string, state: ContainerState, more: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name,
  image: 'x',
  imageID: '',
  ready: false,
  restartCount: 0,
  state,
  ...more,
});

function closed(init: readonly ContainerStatus[], regular: readonly ContainerStatus[], last: Partial<Container> = {}) {
  const initContainers = init.map(({ name }, index) => ({
    name,
    image: 'x',
    ...(index === init.length - 1 ? last : {}),
  }));
  const pod = {
    metadata: { name: 'p', namespace: 'n', uid: 'u' },
    spec: { initContainers, containers: regular.map(({ name }) => ({ name, image: 'x' })) },
  };
  const shown = endStatuses(pod, { init, regular, ephemeral: [] }, 'over');
  return { init: shown.init.map(({ state }) => state), regular: shown.regular.map(({ state }) => state) };
}

test('without init containers, every container without a termination gets an unknown one', () => {
  assert.deepEqual(closed([], [status('a', waiting), status('b', ended(0)), status('c', { running: {} })]), {
    init: [],
    regular: [unseen, ended(0), unseen],
  });
});

test('containers behind unfinished init containers stay as they were, except the first init container', () => {
  assert.deepEqual(closed([status('i', waiting), status('j', waiting)], [status('a', waiting)]), {
    init: [unseen, waiting],
    regular: [waiting],
  });
  assert.deepEqual(
    closed([status('i', ended(0)), status('j', { running: {} }), status('k', waiting)], [status('a', waiting)]),
    { init: [ended(0), unseen, waiting], regular: [waiting] },
  );
  assert.deepEqual(
    closed([status('i', ended(0)), status('j', waiting, { lastState: ended(1) })], [status('a', waiting)]),
    { init: [ended(0), unseen], regular: [waiting] },
  );
});

test('after the last init container succeeded, the last sidecar started, or any container ran, all are ended', () => {
  assert.deepEqual(closed([status('i', ended(0))], [status('a', waiting)]).regular, [unseen]);
  assert.deepEqual(
    closed([status('s', { running: {} }, { started: true })], [status('a', waiting)], { restartPolicy: 'Always' })
      .regular,
    [unseen],
  );
  assert.deepEqual(
    closed([status('s', { running: {} }, { started: false })], [status('a', waiting)], { restartPolicy: 'Always' })
      .regular,
    [waiting],
  );
  assert.deepEqual(
    closed([status('i', waiting)], [status('a', waiting, { lastState: ended(1) }), status('b', waiting)]).regular,
    [unseen, unseen],
  );
});

test('in an abandoned pod only waiting containers end, with their last termination, if they had their turn to start', () => {
  const pod = {
    metadata: { name: 'p', namespace: 'n', uid: 'u' },
    spec: { initContainers: ['i', 'j', 'k'].map((name) => ({ name, image: 'x' })), containers: [] },
  };
  const init = [status('i', ended(0)), status('j', waiting, { lastState: ended(1) }), status('k', waiting)];
  const lists = {
    init,
    regular: [status('a', waiting)],
    ephemeral: [status('e', waiting), status('f', { running: {} })],
  };
  const given = endStatuses(pod, lists, 'given up');
  assert.deepEqual(
    [given.init, given.regular, given.ephemeral].map((each) => each.map(({ state }) => state)),
    [[ended(0), ended(1), waiting], [waiting], [unseen, { running: {} }]],
  );
  const begun = endStatuses(
    pod,
    { ...lists, regular: [status('a', { running: {} }), status('b', waiting)] },
    'given up',
  );
  assert.deepEqual(
    begun.regular.map(({ state }) => state),
    [{ running: {} }, unseen],
  );
});
