import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeCgroups } from '../../ports/testing/fake-cgroups.ts';
import { computeReservedGroups, enforceReservedGroups } from './reserved-cgroups.ts';

const reserved = {
  system: { cpu: '250m', memory: '256Mi', pid: '500' },
  kube: { cpu: '500m', memory: '512Mi', 'ephemeral-storage': '1Gi' },
  systemCpus: [],
  systemCgroup: '/system',
  kubeCgroup: '/kube.slice/kube-reserved_group.slice',
  enforce: ['pods', 'system-reserved', 'kube-reserved'],
};
const cgroupfs = { driver: 'cgroupfs', protectsMemory: false } as const;

async function enforced(
  cgroups: FakeCgroups,
  config: Partial<typeof reserved>,
  on: Parameters<typeof computeReservedGroups>[1] = cgroupfs,
) {
  const events: string[] = [];
  const recorder = {
    nodeEvent: (type: string, reason: string, message: string) => void events.push(`${type} ${reason} ${message}`),
  };
  const groups = computeReservedGroups({ ...reserved, ...config }, on);
  const problem = await enforceReservedGroups(groups, { cgroups, recorder }).then(
    () => undefined,
    (error: Error) => error.message,
  );
  return { events, problem };
}

describe('groups of what is not in pods', () => {
  it('cgroups of system daemons get the reserved resources as limits, where the configuration enforces them', async () => {
    const cgroups = new FakeCgroups();
    await cgroups.ensure('/system', {});
    await cgroups.ensure('/kube', {});
    const { events, problem } = await enforced(cgroups, { kubeCgroup: 'kube/' });
    assert.equal(problem, undefined);
    assert.deepEqual(cgroups.limitsOf('/system'), { cpuShares: 256, memoryBytes: 2 ** 28, pidsMax: 500 });
    assert.deepEqual(cgroups.limitsOf('/kube'), { cpuShares: 512, memoryBytes: 2 ** 29 });
    assert.deepEqual(events, [
      'Normal NodeAllocatableEnforced Updated limits on system reserved cgroup /system',
      'Normal NodeAllocatableEnforced Updated limits on kube reserved cgroup kube/',
    ]);
    assert.deepEqual(computeReservedGroups({ ...reserved, enforce: ['pods'] }, cgroupfs), []);
  });

  it('cgroups of system daemons are limited in CPU alone where only that is enforced', async () => {
    const cgroups = new FakeCgroups();
    await cgroups.ensure('/system', {});
    await enforced(cgroups, { enforce: ['system-reserved-compressible'] });
    assert.deepEqual(cgroups.limitsOf('/system'), { cpuShares: 256 });
  });

  it('cgroups of system daemons are slices with the systemd driver', () => {
    assert.deepEqual(
      computeReservedGroups(reserved, { driver: 'systemd', protectsMemory: false }).map(({ name }) => name),
      ['/system', '/kube/reserved-group'],
    );
  });

  it('cgroups of system daemons keep their memory under pressure with MemoryQoS', () => {
    const [system] = computeReservedGroups(reserved, { driver: 'cgroupfs', protectsMemory: true });
    assert.deepEqual(system?.limits?.unified, { 'memory.min': String(2 ** 28) });
    const [cpuOnly] = computeReservedGroups(
      { ...reserved, enforce: ['system-reserved-compressible'] },
      { driver: 'cgroupfs', protectsMemory: true },
    );
    assert.deepEqual(cpuOnly?.limits, { cpuShares: 256 });
  });

  it('cgroups of system daemons that are missing or without a reservation keep the agent from starting, with an event in upstream words', async () => {
    const missing = await enforced(new FakeCgroups(), {});
    assert.match(
      missing.problem ?? '',
      /^Failed to enforce System Reserved Cgroup Limits on "\/system": cgroup \["system"\] has some missing paths: /,
    );
    assert.deepEqual(missing.events, [`Warning FailedNodeAllocatableEnforcement ${missing.problem}`]);
    const empty = await enforced(new FakeCgroups(), { system: {} as never });
    assert.equal(
      empty.problem,
      'Failed to enforce System Reserved Cgroup Limits on "/system": ["system"] cgroup is not configured properly',
    );
  });

  it('cgroups of system daemons whose limits the kernel refuses are reported as such', async () => {
    const cgroups = new FakeCgroups();
    await cgroups.ensure('/system', {});
    cgroups.fail('update', { name: '/system', kind: 'Conflict' });
    const { problem } = await enforced(cgroups, { enforce: ['system-reserved-compressible'] });
    assert.match(problem ?? '', /^Failed to enforce System Reserved Compressible Cgroup Limits on "\/system": update/);
  });
});
