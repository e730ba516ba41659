import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container } from '../../../api/core/container.ts';
import type { ContainerState, ContainerStatus } from '../../../api/core/pod-status.ts';
import { closeStatuses } from './close-statuses.ts';

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
  const shown = closeStatuses(pod, { init, regular });
  return { init: shown.init.map(({ state }) => state), regular: shown.regular.map(({ state }) => state) };
}

test('without init containers all that has no end has one that nobody saw', () => {
  assert.deepEqual(closed([], [status('a', waiting), status('b', ended(0)), status('c', { running: {} })]), {
    init: [],
    regular: [unseen, ended(0), unseen],
  });
});

test('what had to wait for init containers that were not done stays as it was, and the first of those never does', () => {
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

test('once the last init container ended well, or the last sidecar had started, or a container ever ran, all are closed', () => {
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
