import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { applyDefaults } from '../../model/config/defaults.ts';
import { computeFeatureGates } from '../../model/config/feature-gates.ts';
import { toKubeletConfig } from '../../model/config/kubelet-config.ts';
import { FakeCgroups } from '../../ports/testing/fake-cgroups.ts';
import { createNodeSetup } from './create-node-setup.ts';

function setUp(fields: Record<string, unknown>, featureGates: Record<string, boolean> = {}) {
  const { gates } = computeFeatureGates(featureGates);
  const config = toKubeletConfig(applyDefaults(fields, gates.enabled), gates);
  const cgroups = new FakeCgroups({ version: 2 });
  const steps: string[] = [];
  const scores: number[] = [];
  const clock = new FakeClock();
  const setup = createNodeSetup({
    config,
    cgroups,
    settings: {
      tunables: {
        read: async () => 0,
        write: async (name) => void (steps.includes('tunables') || steps.push('tunables', name)),
      },
      processGroups: {
        ownPid: 5,
        move: async (pid, group) => void steps.push(`${pid} to ${group}`),
        isIn: async () => false,
        rootProcesses: async () => [],
      },
      ownProcess: { setOomScore: (score) => void scores.push(score) as undefined },
    },
    recorder: { nodeEvent: (_type, reason) => void steps.push(reason) },
    clock,
    random: seededRandom(1),
    log: recordingLog(),
  });
  return { cgroups, steps, scores, setup, clock };
}
const reserving = {
  kubeReserved: { memory: '100Mi' },
  kubeReservedCgroup: '/kube',
  enforceNodeAllocatable: ['pods', 'kube-reserved'],
  kubeletCgroups: '/kube/kubelet',
};

test('a node is set up in the order of upstream: kernel, reservations, groups of processes', async () => {
  const { cgroups, steps, setup, clock } = setUp(reserving);
  await cgroups.ensure('/kube', {});
  await setup.start();
  await clock.settle();
  assert.deepEqual(steps, ['tunables', 'vm/overcommit_memory', 'NodeAllocatableEnforced', '5 to /kube/kubelet']);
  assert.deepEqual(cgroups.limitsOf('/kube'), { memoryBytes: 100 * 2 ** 20 });
  await setup.stop();
});

test('with MemoryQoS the reserved memory is protected', async () => {
  const { cgroups, setup } = setUp(reserving, { MemoryQoS: true });
  await cgroups.ensure('/kube', {});
  await setup.start();
  assert.deepEqual(cgroups.limitsOf('/kube')?.unified, { 'memory.min': String(100 * 2 ** 20) });
  await setup.stop();
});

test('with protectKernelDefaults a kernel that differs stops the start before anything else is done', async () => {
  const { steps, setup } = setUp({ ...reserving, protectKernelDefaults: true });
  await assert.rejects(setup.start(), /invalid kernel flag: vm\/overcommit_memory, expected value: 1, actual value: 0/);
  assert.deepEqual(steps, []);
});

test('the OOM score is set again each 5 min, and each minute when the agent has a group of its own', async () => {
  for (const [fields, times] of [
    [{}, 3],
    [{ kubeletCgroups: '/kubelet' }, 11],
  ] as const) {
    const { setup, clock, scores } = setUp({ ...fields, oomScoreAdj: -500 });
    await setup.start();
    await clock.settle();
    for (let minute = 0; minute < 12; minute++) await clock.advance(60_000);
    assert.deepEqual([scores[0], scores.length >= times], [-500, true], `${scores.length} times`);
    assert.ok(scores.length <= times + 2, `${scores.length} times`);
    await setup.stop();
  }
});
