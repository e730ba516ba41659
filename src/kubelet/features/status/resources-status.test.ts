import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ResourceRequirements } from '../../../api/core/resource-requirements.ts';
import type { Changes } from '../../../api/testing/pod-builder.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { containerId, podUid, sandboxId } from '../../model/ids.ts';
import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import { generatePodStatus } from './pod-status.ts';
import { containerStatusResources, podStatusResources } from './resources-status.ts';

const run = (fields: Partial<ContainerRuntimeStatus> = {}): ContainerRuntimeStatus => ({
  id: containerId('c'),
  sandboxId: sandboxId('s'),
  name: 'main',
  attempt: 0,
  state: 'running',
  createdAtMs: 1,
  startedAtMs: 1,
  finishedAtMs: 0,
  exitCode: 0,
  reason: '',
  message: '',
  image: 'x',
  imageRef: 'x',
  imageId: 'x',
  logPath: '',
  labels: {},
  annotations: {},
  ...fields,
});
const allocated: ResourceRequirements = {
  requests: { cpu: '100m', memory: '64Mi' },
  limits: { cpu: '200m', memory: '128Mi', 'hugepages-2Mi': '4Mi' },
};
const container = { name: 'main', image: 'x', resources: allocated };

describe('resources in the status of a container', () => {
  test('are those sent to the runtime, the recorded memory request, and otherwise the allocated ones', () => {
    const made = { cpuShares: 512, cpuQuota: 60_000, cpuPeriod: 100_000, memoryLimitBytes: 2 ** 28 };
    assert.deepEqual(containerStatusResources(container, run({ resources: made }), { requests: { memory: '32Mi' } }), {
      limits: { cpu: '600m', memory: '256Mi', 'hugepages-2Mi': '4Mi' },
      requests: { cpu: '500m', memory: '32Mi' },
    });
  });

  test('are the recorded ones if the runtime reports none, and the allocated ones for a container that does not run', () => {
    const recorded = { requests: { cpu: '50m', memory: '32Mi' }, limits: { cpu: '100m', memory: '64Mi' } };
    assert.deepEqual(containerStatusResources(container, run(), recorded), {
      limits: { cpu: '100m', memory: '64Mi', 'hugepages-2Mi': '4Mi' },
      requests: { cpu: '50m', memory: '32Mi' },
    });
    assert.deepEqual(
      [
        containerStatusResources(container, run({ state: 'exited' }), recorded),
        containerStatusResources(container, run(), undefined),
      ],
      [allocated, allocated],
    );
  });

  test('are the allocated ones where the kernel has no finer value', () => {
    const tiny = { ...container, resources: { requests: { cpu: '1m' }, limits: { cpu: '5m' } } };
    assert.deepEqual(
      containerStatusResources(
        tiny,
        run({ resources: { cpuShares: 2, cpuQuota: 1000, cpuPeriod: 100_000, memoryLimitBytes: 0 } }),
        undefined,
      ),
      { requests: { cpu: '1m' }, limits: { cpu: '5m' } },
    );
    assert.deepEqual(
      containerStatusResources(
        { name: 'main', image: 'x' },
        run({ resources: { cpuShares: 2, cpuQuota: 0, cpuPeriod: 100_000, memoryLimitBytes: 0 } }),
        undefined,
      ),
      {},
    );
  });
});

describe('resources in the status of a pod', () => {
  const of = (changes: Changes, records: Record<string, ResourceRequirements> = {}, podLevel?: ResourceRequirements) =>
    podStatusResources(buildPod(changes), { container: (name) => records[name], podLevel });

  test("are the sum of its containers' resources, with the sum of their allocated ones", () => {
    const changes = {
      'spec.containers[0].resources': { requests: { cpu: '200m', memory: '1Gi' }, limits: { memory: '2Gi' } },
    };
    assert.deepEqual(of(changes, { main: { requests: { cpu: '100m', memory: '1Gi' }, limits: { memory: '1Gi' } } }), {
      allocatedResources: { cpu: '200m', memory: '1Gi' },
      resources: { requests: { cpu: '100m', memory: '1Gi' }, limits: { memory: '1Gi' } },
    });
    assert.deepEqual(of({}), { resources: {} });
  });

  test('are the recorded pod-level ones if it has any', () => {
    assert.deepEqual(of({ 'spec.resources': { requests: { cpu: '2' } } }, {}, { requests: { cpu: '1' } }), {
      allocatedResources: { cpu: '2' },
      resources: { requests: { cpu: '1' } },
    });
  });
});

test('only resize conditions appear in the status, and only until the pod is over', () => {
  const pod = buildPod({
    'status.conditions': [
      { type: 'PodResizePending', status: 'True' },
      { type: 'example.com/own', status: 'True' },
    ],
  });
  const facts = {
    pod,
    runtime: {
      uid: podUid('uid-1'),
      name: 'web',
      namespace: 'default',
      sandboxes: [],
      containers: [],
      observedAtMs: 0,
    },
    previous: undefined,
    runtimeName: 'containerd',
    hostIps: [],
    rules: {
      shouldBeStarted: () => true,
      restartsAfterExit: () => true,
      isDefinitionChanged: () => false,
      shouldRestartAllContainers: () => false,
      needsNewSandbox: () => true,
      isGivenUp: () => false,
    },
    probes: { get: () => undefined },
    failures: { get: () => undefined },
    resize: {
      conditions: [{ type: 'PodResizeInProgress', status: 'True' as const }],
      actuated: { container: () => undefined, podLevel: undefined },
    },
  };
  const types = (isTerminal: boolean) =>
    generatePodStatus({ ...facts, isTerminal })
      .conditions?.map(({ type }) => type)
      .slice(0, 2);
  assert.deepEqual(
    [types(false), types(true)],
    [
      ['example.com/own', 'PodResizeInProgress'],
      ['example.com/own', 'PodReadyToStartContainers'],
    ],
  );
});
