// The static policies of the CPU and memory managers on a real kernel: CPU sets of containers, restarts of the agent,
// damaged state files.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { waitUntil } from '../../src/up/processes.ts';
import { container, pod } from './support/manifests.ts';
import { agentFixture } from './support/suite.ts';
import { containerId } from './support/watch.ts';

const config = {
  cpuManagerPolicy: 'static',
  cpuManagerReconcilePeriod: '1h',
  kubeReserved: { cpu: '900m', memory: '400Mi' },
  evictionHard: { 'memory.available': '100Mi' },
  memoryManagerPolicy: 'Static',
  reservedMemory: [{ numaNode: 0, limits: { memory: '500Mi' } }],
};
const fixture = agentFixture({ name: 'cpu-manager', agent: { config } });
const lastCpu = availableParallelism() - 1;
const allCpus = `0-${lastCpu}`;
/** The static policy reserves CPU 0 here, so the first whole CPU is always the next one. */
const ownCpu = '1';
const otherCpus = lastCpu === 1 ? '0' : lastCpu === 2 ? '0,2' : `0,2-${lastCpu}`;

const sized = (name: string, cpu: string) =>
  pod(
    name,
    {
      containers: [
        container('main', { resources: { limits: { cpu, memory: '64Mi' }, requests: { cpu, memory: '64Mi' } } }),
      ],
    },
    { uid: `uid-${name}` },
  );
const cpusOf = async (name: string): Promise<string> =>
  (await fixture.agent.inside(name, "sed -n 's/^Cpus_allowed_list:\\t//p' /proc/1/status")).trim();
const hasCpus = (name: string, cpus: string): Promise<boolean> =>
  waitUntil(async () => (await cpusOf(name)) === cpus, 20_000);
const stateFile = (): string => join(fixture.agent.rootDir, 'cpu_manager_state');
const state = (): { policyName: string; defaultCpuSet: string; entries?: Record<string, Record<string, string>> } =>
  JSON.parse(readFileSync(stateFile(), 'utf8'));
const quota = async (name: string): Promise<string> =>
  fixture.agent.inside(
    name,
    'cat /sys/fs/cgroup/cpu/cpu.cfs_quota_us 2>/dev/null || cut -d" " -f1 /sys/fs/cgroup/cpu.max',
  );

before(() => assert.ok(lastCpu >= 1, 'these tests need two CPUs'));

test('containers share all CPUs until a guaranteed pod with whole CPUs gets one alone', async () => {
  await fixture.agent.run(sized('shared', '100m'));
  assert.equal(await cpusOf('shared'), allCpus);
  await fixture.agent.run(sized('exclusive', '1'));
  assert.equal(await cpusOf('exclusive'), ownCpu);
  assert.ok(await hasCpus('shared', otherCpus), 'the running container of the shared pool leaves the CPU');
  assert.match((await quota('exclusive')).trim(), /^(-1|max)$/, 'its own CPU needs no quota');
  assert.deepEqual(state().entries, { 'uid-exclusive': { main: ownCpu } });
  assert.equal(state().defaultCpuSet, otherCpus);
});

test('its memory is that of one NUMA node, and counted in the state file of upstream', async () => {
  const mems = await fixture.agent.inside('exclusive', "sed -n 's/^Mems_allowed_list:\\t//p' /proc/1/status");
  assert.equal(mems.trim(), '0');
  const text = readFileSync(join(fixture.agent.rootDir, 'memory_manager_state'), 'utf8');
  const { policyName, entries } = JSON.parse(text) as { policyName: string; entries: Record<string, unknown> };
  const block = { numaAffinity: [0], type: 'memory', size: 64 * 2 ** 20 };
  assert.deepEqual([policyName, entries['uid-exclusive']], ['Static', { main: [block] }]);
});

test('a second pod that asks for a whole CPU is rejected as upstream rejects it', async (t) => {
  if (lastCpu > 1) return t.skip('there is another free CPU on this machine');
  // The managers decide before the sum of all requests is compared with the node.
  fixture.agent.writeManifest('second', sized('second', '1'));
  const seen = await fixture.agent.phase('second', 'Failed');
  assert.equal(seen.status?.reason, 'UnexpectedAdmissionError');
  assert.equal(
    seen.status?.message,
    'Pod was rejected: Allocate failed due to not enough cpus available to satisfy request: requested=1, available=0, which is unexpected',
  );
  await fixture.agent.remove('second');
});

test('a restart of the agent changes neither containers nor their CPUs', async () => {
  const before = [
    containerId(fixture.agent.pod('exclusive'), 'main'),
    containerId(fixture.agent.pod('shared'), 'main'),
  ];
  await fixture.agent.restart('SIGKILL');
  await Promise.all([fixture.agent.ready('exclusive'), fixture.agent.ready('shared')]);
  assert.deepEqual(
    [containerId(fixture.agent.pod('exclusive'), 'main'), containerId(fixture.agent.pod('shared'), 'main')],
    before,
  );
  assert.equal(await cpusOf('exclusive'), ownCpu);
  assert.equal(await cpusOf('shared'), otherCpus);
});

test('a corrupt state file is set aside, and running containers keep or get back their CPUs', async () => {
  await fixture.agent.term();
  writeFileSync(stateFile(), '{"policyName":"static","defaultCpuSet":"0-1","entries":{"uid');
  await fixture.agent.start();
  await fixture.agent.ready('exclusive');
  assert.ok(await waitUntil(() => existsSync(`${stateFile()}.corrupt`), 10_000));
  assert.match(fixture.agent.log, /a state file cannot be used; it was set aside and its content is rebuilt/);
  assert.ok(await hasCpus('exclusive', ownCpu));
  assert.ok(await hasCpus('shared', otherCpus));
  assert.ok(await waitUntil(() => state().entries?.['uid-exclusive']?.['main'] === ownCpu, 10_000));
});

test('the CPUs of a pod that is gone return to the shared pool at once', async () => {
  await fixture.agent.remove('exclusive');
  assert.ok(await hasCpus('shared', allCpus));
  assert.ok(await waitUntil(() => state().defaultCpuSet === allCpus && state().entries === undefined, 10_000));
});

test('a pod with resources of its own gets a CPU for all its containers, and a restart changes none', async () => {
  const { agent } = fixture;
  await agent.term();
  agent.writeConfig({
    ...config,
    featureGates: { PodLevelResourceManagers: true },
    topologyManagerPolicy: 'best-effort',
    topologyManagerScope: 'pod',
  });
  await agent.start();
  await agent.ready('shared');
  const amounts = { cpu: '1', memory: '64Mi' };
  await agent.run(
    pod(
      'pooled',
      { resources: { limits: amounts, requests: amounts }, containers: [container('main'), container('helper')] },
      { uid: 'uid-pooled' },
    ),
  );
  const cpus = (name: string): Promise<string> =>
    agent.inside('pooled', "sed -n 's/^Cpus_allowed_list:\\t//p' /proc/1/status", name).then((text) => text.trim());
  assert.deepEqual([await cpus('main'), await cpus('helper')], [ownCpu, ownCpu]);
  assert.ok(await hasCpus('shared', otherCpus), 'the running container of the shared pool leaves the CPU');
  const [before, ids] = [state(), ['main', 'helper'].map((name) => containerId(agent.pod('pooled'), name))];
  assert.equal(before.defaultCpuSet, otherCpus);
  await agent.restart('SIGKILL');
  await Promise.all([agent.ready('pooled'), agent.ready('shared')]);
  assert.deepEqual(
    ['main', 'helper'].map((name) => containerId(agent.pod('pooled'), name)),
    ids,
  );
  assert.deepEqual([await cpus('main'), await cpus('helper'), state()], [ownCpu, ownCpu, before]);
  await agent.remove('pooled');
  assert.ok(await hasCpus('shared', allCpus));
});
