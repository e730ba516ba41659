import assert from 'node:assert/strict';
import { test } from 'node:test';
import { containerId, podUid, sandboxId } from '../../model/ids.ts';
import type {
  ContainerRuntimeStatus,
  ContainerState,
  ListedSandbox,
  PodRuntimeStatus,
  SandboxRuntimeStatus,
} from '../../model/runtime-status.ts';
import type { Listed } from '../../ports/runtime.ts';
import { aRun, aSandbox } from '../pod-runtime/testing/builders.ts';
import { computePodLifecycleEvents, groupByPod, listingDiffers, sameContainer, sameSandbox } from './diff.ts';

const uid = podUid('u');

function pod(
  containers: Readonly<Record<string, ContainerState>>,
  sandboxes: Readonly<Record<string, boolean>> = { s: true },
): PodRuntimeStatus {
  return {
    uid,
    name: 'p',
    namespace: 'n',
    containers: Object.entries(containers).map(
      ([id, state]) =>
        ({ id: containerId(id), state, labels: {}, annotations: {} }) as unknown as ContainerRuntimeStatus,
    ),
    sandboxes: Object.entries(sandboxes).map(
      ([id, ready]) => ({ id: sandboxId(id), ready, ips: [] }) as unknown as SandboxRuntimeStatus,
    ),
    observedAtMs: 0,
  };
}

const kinds = (before: PodRuntimeStatus | undefined, after: PodRuntimeStatus | undefined): string[] =>
  computePodLifecycleEvents(uid, before, after).map((event) =>
    event.kind === 'SandboxChanged' ? event.kind : `${event.kind} ${event.containerId}`,
  );

test('each change of a container has its event', () => {
  const cases: [Readonly<Record<string, ContainerState>>, Readonly<Record<string, ContainerState>>, string[]][] = [
    [{}, { a: 'created' }, ['ContainerChanged a']],
    [{}, { a: 'running' }, ['ContainerStarted a']],
    [{}, { a: 'exited' }, ['ContainerDied a']],
    [{ a: 'created' }, { a: 'running' }, ['ContainerStarted a']],
    [{ a: 'running' }, { a: 'exited' }, ['ContainerDied a']],
    [{ a: 'running' }, { a: 'unknown' }, ['ContainerChanged a']],
    [{ a: 'unknown' }, { a: 'running' }, ['ContainerStarted a']],
    [{ a: 'exited' }, {}, ['ContainerRemoved a']],
    [{ a: 'running' }, {}, ['ContainerDied a', 'ContainerRemoved a']],
    [{ a: 'running' }, { a: 'running' }, []],
    [{ a: 'running' }, { b: 'running' }, ['ContainerStarted b', 'ContainerDied a', 'ContainerRemoved a']],
  ];
  for (const [before, after, expected] of cases) assert.deepEqual(kinds(pod(before), pod(after)), expected);
});

test('a sandbox that is added, removed or dies is one event', () => {
  assert.deepEqual(kinds(undefined, pod({})), ['SandboxChanged']);
  assert.deepEqual(kinds(pod({}, { s: true }), pod({}, { s: false })), ['SandboxChanged']);
  assert.deepEqual(kinds(pod({}, { s: false }), pod({}, { t: true, s: false })), ['SandboxChanged']);
  assert.deepEqual(kinds(pod({}), undefined), ['SandboxChanged']);
  assert.deepEqual(kinds(pod({}), pod({})), []);
});

const listed = (id: string, state: ContainerState, owner = 'u'): Listed =>
  ({ id, state, podUid: owner }) as unknown as Listed;
const listedSandbox = (id: string, ready: boolean, owner = 'u'): ListedSandbox =>
  ({ id, ready, podUid: owner }) as unknown as ListedSandbox;

test('a listing is sorted by pod, and omits entries without a pod uid', () => {
  const pods = groupByPod(
    [listedSandbox('s', true), listedSandbox('x', true, '')],
    [listed('a', 'running'), listed('b', 'running', 'v'), listed('y', 'running', '')],
  );
  assert.deepEqual(
    [...pods].map(([key, value]) => [
      key,
      value.sandboxes.map((item) => item.id),
      value.containers.map((item) => item.id),
    ]),
    [
      ['u', ['s'], ['a']],
      ['v', [], ['b']],
    ],
  );
});

test('a listing differs when it has more or fewer entries or another state', () => {
  const known = pod({ a: 'running' });
  assert.equal(
    listingDiffers(known, { sandboxes: [listedSandbox('s', true)], containers: [listed('a', 'running')] }),
    false,
  );
  assert.equal(listingDiffers(undefined, { sandboxes: [], containers: [] }), true);
  assert.equal(
    listingDiffers(known, { sandboxes: [listedSandbox('s', false)], containers: [listed('a', 'running')] }),
    true,
  );
  assert.equal(
    listingDiffers(known, { sandboxes: [listedSandbox('s', true)], containers: [listed('a', 'exited')] }),
    true,
  );
  assert.equal(listingDiffers(known, { sandboxes: [listedSandbox('s', true)], containers: [] }), true);
  assert.equal(
    listingDiffers(known, { sandboxes: [listedSandbox('s', true)], containers: [listed('b', 'running')] }),
    true,
  );
});

test('a container differs when any mutable field changed', () => {
  const resources = { cpuPeriod: 1, cpuQuota: 2, cpuShares: 3, memoryLimitBytes: 4 };
  const run = aRun('app', 1, { resources });
  assert.equal(sameContainer(run, { ...run, resources: { ...resources } }), true);
  for (const change of [
    { state: 'running' },
    { startedAtMs: 9 },
    { finishedAtMs: 9 },
    { exitCode: 9 },
    { reason: 'x' },
    { message: 'x' },
    { logPath: 'x' },
    { imageRef: 'x' },
    { resources: { ...resources, cpuPeriod: 9 } },
    { resources: { ...resources, cpuQuota: 9 } },
    { resources: { ...resources, cpuShares: 9 } },
    { resources: { ...resources, memoryLimitBytes: 9 } },
  ] as const)
    assert.equal(sameContainer(run, { ...run, ...change }), false, JSON.stringify(change));
});

test('a sandbox differs when its state or address changed', () => {
  const sandbox = aSandbox({ ips: ['10.0.0.5', 'fd00::5'] });
  assert.equal(sameSandbox(sandbox, { ...sandbox, ips: [...sandbox.ips] }), true);
  for (const change of [
    { id: sandboxId('x') },
    { ready: false },
    { ips: ['10.0.0.5'] },
    { ips: ['10.0.0.5', 'fd00::6'] },
  ])
    assert.equal(sameSandbox(sandbox, { ...sandbox, ...change }), false);
});
