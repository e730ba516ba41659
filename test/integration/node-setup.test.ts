// What the agent sets on the node before the first pod, in a cgroup tree of its own.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { promisify } from 'node:util';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { testCgroupDriver } from './support/containerd.ts';
import { waitUntil } from './support/patience.ts';
import { pod } from './support/manifests.ts';
import { agentFixture } from './support/suite.ts';
import { containerId } from './support/watch.ts';

const MOUNT = '/sys/fs/cgroup';
const V2 = existsSync(`${MOUNT}/cgroup.controllers`);
const GROUP = `/kts-node-setup-${process.pid}`;
const KUBE = `${GROUP}/kube`;
const trees = V2
  ? [MOUNT]
  : readdirSync(MOUNT)
      .map((tree) => join(MOUNT, tree))
      .filter((tree) => existsSync(join(tree, 'cgroup.procs')) && !existsSync(join(tree, 'cgroup.controllers')));
const skip = testCgroupDriver() === 'systemd' && 'the names are those of cgroupfs';

for (const tree of skip === false ? trees : []) {
  mkdirSync(join(tree, KUBE), { recursive: true });
  // A new group of cpusets takes processes only once it has CPUs and memory.
  for (const group of [GROUP, KUBE])
    for (const file of ['cpuset.cpus', 'cpuset.mems'])
      if (!V2 && existsSync(join(tree, group, file)))
        writeFileSync(join(tree, group, file), readFileSync(join(tree, file), 'utf8').trim());
}
const folder = mkdtempSync(join(tmpdir(), 'kts-node-setup-'));
const lockFile = join(folder, 'lock');
const fixture = agentFixture({
  name: 'node-setup',
  agent: {
    args: ['--lock-file', lockFile, '--exit-on-lock-contention'],
    config: {
      kubeReserved: { cpu: '250m', memory: '512Mi', pid: '1000' },
      kubeReservedCgroup: KUBE,
      enforceNodeAllocatable: ['pods', 'kube-reserved'],
      kubeletCgroups: `${KUBE}/kubelet`,
      maxOpenFiles: 4321,
      ...(skip === false ? {} : { enforceNodeAllocatable: ['pods'], kubeReservedCgroup: '', kubeletCgroups: '' }),
    },
  },
});
after(async () => {
  rmSync(folder, { recursive: true, force: true });
  const groups = trees.flatMap((tree) => [`${KUBE}/kubelet`, KUBE, GROUP].map((group) => join(tree, group)));
  for (const group of groups) if (existsSync(group)) rmdirSync(group);
});

const read = (controller: string, group: string, file: string): string =>
  readFileSync(join(MOUNT, V2 ? '' : controller, group, file), 'utf8').trim();

test('the cgroup of kubeReserved gets the reservation as limits, and an event records it', { skip }, async () => {
  assert.equal(read('memory', KUBE, V2 ? 'memory.max' : 'memory.limit_in_bytes'), String(512 * 2 ** 20));
  assert.equal(read('cpu', KUBE, V2 ? 'cpu.weight' : 'cpu.shares'), V2 ? '10' : '256');
  assert.equal(read('pids', KUBE, 'pids.max'), '1000');
  const { stdout } = await fixture.agent.cli('events');
  assert.match(stdout, new RegExp(`NodeAllocatableEnforced.*Updated limits on kube reserved cgroup ${KUBE}`));
});

test('all pods together get the processes that are left', { skip }, () => {
  const [most = 0] = ['pid_max', 'threads-max']
    .map((name) => Number(readFileSync(`/proc/sys/kernel/${name}`, 'utf8')))
    .sort((left, right) => left - right);
  assert.equal(read('pids', `${fixture.containerd.cgroupRoot}/kubepods`, 'pids.max'), String(most - 1000));
});

test('the agent runs in its own group in every tree', { skip }, async () => {
  const { pid } = fixture.agent;
  for (const tree of trees) {
    const file = join(tree, KUBE, 'kubelet', 'cgroup.procs');
    assert.ok(
      await waitUntil(() => existsSync(file) && readFileSync(file, 'utf8').split('\n').includes(String(pid)), 5000),
      tree,
    );
  }
});

test('the agent may open as many files as configured', async () => {
  const limits = (): string => readFileSync(`/proc/${fixture.agent.pid}/limits`, 'utf8');
  assert.ok(await waitUntil(() => /^Max open files +4321 +4321 /m.test(limits()), 5000), limits());
});

test('the settings of the kernel are those of upstream', () => {
  const settings = ['vm/overcommit_memory', 'vm/panic_on_oom', 'kernel/panic', 'kernel/panic_on_oops'];
  assert.deepEqual(
    settings.map((name) => readFileSync(`/proc/sys/${name}`, 'utf8').trim()),
    ['1', '0', '10', '1'],
  );
});

test('an agent that cannot enforce its reservation does not start, and says why', { skip }, async () => {
  const { agent } = fixture;
  await agent.term();
  agent.writeConfig({
    systemReserved: { memory: '64Mi' },
    systemReservedCgroup: `${GROUP}/none`,
    enforceNodeAllocatable: ['pods', 'system-reserved'],
  });
  const { code, stderr } = await agent.spawnSecond();
  assert.notEqual(code, 0);
  assert.match(
    stderr,
    new RegExp(`Failed to enforce System Reserved Cgroup Limits on "${GROUP}/none": cgroup .* has some missing paths`),
  );
  agent.writeConfig({});
  await agent.start();
});

test('the agent holds its lock file, and leaves the node when another process wants it', async () => {
  const { agent } = fixture;
  await agent.run(pod('stays'));
  const before = containerId(agent.pod('stays'));
  // Waits until the agent is gone, because the process that gets the lock may start its own agent.
  await promisify(execFile)('flock', ['--exclusive', lockFile, 'true'], { timeout: 20_000 });
  assert.ok(await waitUntil(() => !agent.running, 5000));
  assert.match(agent.log, /another process wants the lock file/);
  await agent.start();
  assert.equal(containerId(await agent.ready('stays')), before);
  await agent.remove('stays');
});
