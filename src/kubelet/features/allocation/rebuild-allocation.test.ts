import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ResourceRequirements } from '../../../api/core/resource-requirements.ts';
import { allocationOf } from '../../../api/pod-allocation.ts';
import type { PodAllocation } from '../../../api/pod-allocation.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { ContainerRuntimeResources, ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import { aRun, aStatus } from '../pod-runtime/testing/builders.ts';
import { rebuildAllocation } from './rebuild-allocation.ts';

const MIB = 2 ** 20;
const made: ContainerRuntimeResources = {
  cpuShares: 512,
  cpuQuota: 50_000,
  cpuPeriod: 100_000,
  memoryLimitBytes: 64 * MIB,
};

function rebuilt(
  resources: ResourceRequirements | undefined,
  run: Partial<ContainerRuntimeStatus> | undefined,
  actuated?: PodAllocation,
): ResourceRequirements | undefined {
  const pod = buildPod({ 'spec.containers[0].name': 'app', 'spec.containers[0].resources': resources });
  const runs = run === undefined ? [] : [{ ...aRun('app', 'running'), ...run }];
  const allocation = rebuildAllocation(pod, aStatus(runs), actuated);
  assert.deepEqual(Object.keys(allocation), Object.keys(allocationOf(pod)));
  return allocation.containers['app'];
}

describe('a lost allocation', () => {
  const asked = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '2', memory: '2Gi' } };

  it('is what the spec says while nothing runs, or what runs does not differ', () => {
    const pod = buildPod({ 'spec.containers[0].resources': asked });
    assert.deepEqual(rebuildAllocation(pod, undefined, undefined), allocationOf(pod));
    assert.deepEqual(rebuilt(asked, undefined), asked);
    assert.deepEqual(rebuilt(asked, {}), asked);
    assert.deepEqual(rebuilt(asked, { state: 'exited', resources: made }), asked);
    const same = { cpuShares: 1024, cpuQuota: 200_000, cpuPeriod: 100_000, memoryLimitBytes: 2048 * MIB };
    assert.deepEqual(rebuilt(asked, { resources: same }), asked);
  });

  it('is what a running container was created with; memory requests come from the spec or the record', () => {
    const limits = { cpu: '500m', memory: '64Mi' };
    assert.deepEqual(rebuilt(asked, { resources: made }), { requests: { cpu: '500m', memory: '1Gi' }, limits });
    const actuated = { containers: { app: { requests: { memory: '32Mi' } } } };
    assert.deepEqual(rebuilt(asked, { resources: made }, actuated), {
      requests: { cpu: '500m', memory: '32Mi' },
      limits,
    });
    assert.deepEqual(rebuilt(asked, { resources: made }, { containers: { app: {} } })?.requests?.memory, '1Gi');
  });

  it('has no amounts that the spec does not have', () => {
    assert.deepEqual(rebuilt({ requests: { memory: '1Gi' } }, { resources: made }), { requests: { memory: '1Gi' } });
    assert.deepEqual(rebuilt({ requests: { cpu: '1' } }, { resources: made }), { requests: { cpu: '500m' } });
    assert.deepEqual(rebuilt({ limits: { cpu: '1' } }, { resources: made })?.limits, { cpu: '500m' });
    assert.deepEqual(rebuilt({ limits: { memory: '1Gi' } }, { resources: made })?.limits, { memory: '64Mi' });
    assert.equal(rebuilt(undefined, { resources: made })?.limits, undefined);
  });

  it('keeps limits that the container was created without', () => {
    const unlimited = { ...made, cpuQuota: 0, memoryLimitBytes: 0 };
    assert.deepEqual(rebuilt(asked, { resources: unlimited })?.limits, asked.limits);
  });

  it('keeps other containers as asked', () => {
    const pod = buildPod({
      'spec.containers': ['app', 'log'].map((name) => ({ name, image: 'x', resources: asked })),
    });
    const status = aStatus([aRun('app', 'running', { resources: made }), aRun('log', 'running')]);
    assert.deepEqual(rebuildAllocation(pod, status, undefined).containers['log'], asked);
  });
});
