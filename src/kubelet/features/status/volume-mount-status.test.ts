import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ContainerStatus } from '../../../api/core/pod-status.ts';
import { containerId, podUid, sandboxId } from '../../model/ids.ts';
import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import { containerStatuses } from './container-statuses.ts';

const volumeMounts: Container['volumeMounts'] = [
  { name: 'v', mountPath: '/rw' },
  { name: 'v', mountPath: '/ro', readOnly: true },
  { name: 'v', mountPath: '/rro', readOnly: true, recursiveReadOnly: 'IfPossible' },
];
const pod: Pod = {
  metadata: { name: 'p', namespace: 'd', uid: 'u' },
  spec: {
    containers: [
      { name: 'main', image: 'x', volumeMounts },
      { name: 'other', image: 'x' },
    ],
  },
};

function mountsOf(options: {
  mounts?: ContainerRuntimeStatus['mounts'];
  previous?: ContainerStatus[];
}): ContainerStatus['volumeMounts'] {
  const record: ContainerRuntimeStatus = {
    id: containerId('c'),
    sandboxId: sandboxId('s'),
    name: 'main',
    attempt: 0,
    state: 'running',
    image: 'x',
    imageRef: 'x',
    imageId: 'x',
    exitCode: 0,
    reason: '',
    message: '',
    createdAtMs: 1,
    startedAtMs: 2,
    finishedAtMs: 0,
    labels: {},
    annotations: {},
    logPath: '',
    ...(options.mounts === undefined ? {} : { mounts: options.mounts }),
  };
  const runtime = {
    uid: podUid('u'),
    name: 'p',
    namespace: 'd',
    sandboxes: [],
    containers: options.mounts === undefined ? [] : [record],
    observedAtMs: 0,
  };
  const rules = {
    shouldBeStarted: () => false,
    restartsAfterExit: () => false,
    isGivenUp: () => false,
    needsNewSandbox: () => false,
    isDefinitionChanged: () => false,
    shouldRestartAllContainers: () => false,
  };
  const statuses = containerStatuses(
    {
      pod,
      runtime,
      previous: options.previous ?? [],
      rules,
      failures: { get: () => undefined },
      runtimeName: 'containerd',
    },
    pod.spec.containers,
    'regular',
  );
  assert.equal(statuses[1]?.volumeMounts, undefined);
  return statuses[0]?.volumeMounts;
}

const expected = (recursive: string): unknown[] => [
  { name: 'v', mountPath: '/rw' },
  { name: 'v', mountPath: '/ro', readOnly: true, recursiveReadOnly: 'Disabled' },
  { name: 'v', mountPath: '/rro', readOnly: true, recursiveReadOnly: recursive },
];
const made = (recursiveReadOnly: boolean) =>
  ['/rw', '/ro', '/rro'].map((containerPath) => ({
    containerPath,
    hostPath: '/h',
    readOnly: containerPath !== '/rw',
    recursiveReadOnly: containerPath === '/rro' && recursiveReadOnly,
  }));

test('each mount is in the status, with the result of recursive read-only', () => {
  assert.deepEqual(
    [mountsOf({}), mountsOf({ mounts: made(false) }), mountsOf({ mounts: made(true) })],
    [expected('Disabled'), expected('Disabled'), expected('Enabled')],
  );
});

test('the published value stays when the record of the container is removed', () => {
  const previous = [
    {
      name: 'main',
      image: 'x',
      imageID: '',
      ready: false,
      restartCount: 0,
      volumeMounts: mountsOf({ mounts: made(true) }),
    },
  ] as ContainerStatus[];
  assert.deepEqual(mountsOf({ previous }), expected('Enabled'));
});
