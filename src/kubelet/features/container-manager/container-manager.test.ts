import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import { errorKind } from '../../../base/errors.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { podUid } from '../../model/ids.ts';
import { FakeCgroups } from '../../ports/testing/fake-cgroups.ts';
import { ContainerManager } from './container-manager.ts';
import type { QosMemoryRules } from './qos-limits.ts';

const burstable = (uid: string, cpu = '500m'): Pod => ({
  metadata: { name: uid, namespace: 'n', uid },
  spec: { containers: [{ name: 'c', image: 'x', resources: { requests: { cpu } } }] },
});
const NAME = '/kubepods/burstable/podu1';
const uid = podUid('u1');

function world(options: { cgroupsPerQOS?: boolean; qosMemory?: QosMemoryRules } = {}) {
  const clock = new FakeClock();
  const cgroups = new FakeCgroups();
  const log = recordingLog();
  const pods: Pod[] = [];
  const root = { memoryBytes: 2 ** 30 };
  const rootReports: string[] = [];
  const protectedBytes: unknown[] = [];
  const config = {
    cgroupsPerQOS: options.cgroupsPerQOS ?? true,
    cgroupRoot: '/',
    cpuCFSQuota: true,
    cpuCFSQuotaPeriodUs: 100_000,
    podPidsLimit: -1,
    hugePageSizesBytes: [],
  };
  const manager = new ContainerManager({
    cgroups,
    clock,
    random: seededRandom(1),
    log,
    config,
    rootLimits: () => ({ memoryBytes: root.memoryBytes }),
    onRootLimits: ({ problem }) => void rootReports.push(problem ?? 'in force'),
    activePods: () => pods,
    ...(options.qosMemory === undefined ? {} : { qosMemory: options.qosMemory }),
    onProtected: (bytes) => void protectedBytes.push(bytes),
  });
  return { protectedBytes, root, rootReports, clock, cgroups, log, pods, manager };
}

test('start creates the class cgroups with the limits of the node', async () => {
  const { manager, cgroups, clock } = world();
  await manager.start();
  await clock.settle();
  assert.deepEqual(
    [...cgroups.groups].map(([name, { limits }]) => [name, limits]),
    [
      ['/kubepods', { memoryBytes: 2 ** 30 }],
      ['/kubepods/burstable', { cpuShares: 2 }],
      ['/kubepods/besteffort', { cpuShares: 2 }],
    ],
  );
});

test('a pod cgroup is created once; one that was removed by another process is created again and reported so', async () => {
  const { manager, cgroups } = world();
  await manager.start();
  assert.deepEqual(await manager.ensurePodCgroup(burstable('u1')), { cgroupParent: NAME, existed: false });
  assert.deepEqual(cgroups.limitsOf(NAME), { cpuShares: 512 });
  assert.deepEqual(await manager.ensurePodCgroup(burstable('u1')), { cgroupParent: NAME, existed: true });
  cgroups.vanish(NAME);
  assert.deepEqual(await manager.ensurePodCgroup(burstable('u1')), { cgroupParent: NAME, existed: false });
});

test('overhead that a pod gets after its cgroup was created is added; nothing else of an existing cgroup is changed', async () => {
  const { manager, cgroups } = world();
  await manager.start();
  const pod = burstable('u1');
  await manager.ensurePodCgroup(pod);
  await manager.ensurePodCgroup({ ...pod, spec: { ...pod.spec, overhead: { cpu: '250m' } } });
  assert.deepEqual(cgroups.limitsOf(NAME), { cpuShares: 768 });
  await manager.ensurePodCgroup({
    ...burstable('u1', '2'),
    spec: { ...burstable('u1', '2').spec, overhead: { cpu: '250m' } },
  });
  assert.deepEqual(cgroups.limitsOf(NAME), { cpuShares: 768 });
});

test('a cgroup that an earlier agent created without the overhead is raised; one that is larger is left alone', async () => {
  const { manager, cgroups } = world();
  await manager.start();
  const small = burstable('u1');
  const pod: Pod = { ...small, spec: { ...small.spec, overhead: { cpu: '250m' } } };
  await cgroups.ensure(NAME, { cpuShares: 512 });
  cgroups.addProcess(NAME, 7);
  await manager.ensurePodCgroup(pod);
  assert.equal(cgroups.limitsOf(NAME)?.cpuShares, 768);
  const later = world();
  await later.manager.start();
  await later.cgroups.ensure(NAME, { cpuShares: 2048 });
  later.cgroups.addProcess(NAME, 7);
  await later.manager.ensurePodCgroup(pod);
  assert.equal(later.cgroups.limitsOf(NAME)?.cpuShares, 2048);
});

test('an empty cgroup gets its limits again, as its creator may have died before it set them; another is left as it is', async () => {
  const { manager, cgroups } = world();
  await manager.start();
  let alive = true;
  const making = cgroups.ensure(NAME, { cpuShares: 512 }, () => alive);
  alive = false;
  await making;
  assert.deepEqual(
    [await manager.ensurePodCgroup(burstable('u1')), cgroups.limitsOf(NAME)],
    [{ cgroupParent: NAME, existed: true }, { cpuShares: 512 }],
  );
  await manager.ensurePodCgroup(burstable('u1', '2'));
  assert.deepEqual(
    cgroups.limitsOf(NAME),
    { cpuShares: 512 },
    'it has its limits, and may be changed by a resize only',
  );
});

test('a cgroup whose limits were refused gets them with the next try', async () => {
  const { manager, cgroups } = world();
  await manager.start();
  await cgroups.ensure(NAME, {});
  cgroups.fail('ensure', { name: NAME, kind: 'Invalid', times: 1 });
  await assert.rejects(manager.ensurePodCgroup(burstable('u1')));
  await manager.ensurePodCgroup(burstable('u1'));
  assert.deepEqual(cgroups.limitsOf(NAME), { cpuShares: 512 });
});

test('class shares follow the set of pods at once, and are corrected each minute', async () => {
  const { manager, cgroups, clock, pods } = world();
  await manager.start();
  pods.push(burstable('u1'), burstable('u2'));
  manager.podsChanged();
  await clock.settle();
  assert.deepEqual(cgroups.limitsOf('/kubepods/burstable'), { cpuShares: 1024 });
  await cgroups.update('/kubepods/burstable', { cpuShares: 7 });
  await clock.advance(60_000);
  assert.deepEqual(cgroups.limitsOf('/kubepods/burstable'), { cpuShares: 1024 });
  cgroups.vanish('/kubepods');
  await clock.advance(60_000);
  assert.deepEqual(
    [cgroups.limitsOf('/kubepods/burstable'), cgroups.limitsOf('/kubepods')],
    [{ cpuShares: 1024 }, { memoryBytes: 2 ** 30 }],
  );
  await manager.stop();
  assert.equal(clock.armedTimers, 0);
});

test('pods that change no share leave the class cgroups alone until the minute is over', async () => {
  const { manager, cgroups, clock, pods } = world();
  await manager.start();
  pods.push(burstable('u1'));
  manager.podsChanged();
  await clock.settle();
  let updates = 0;
  const update = cgroups.update.bind(cgroups);
  cgroups.update = async (name, limits) => ((updates += 1), update(name, limits));
  for (let change = 0; change < 10; change += 1) {
    manager.podsChanged();
    await clock.settle();
  }
  assert.equal(updates, 0);
  await clock.advance(60_000);
  assert.equal(updates, 2);
  await manager.stop();
});

test('removing kills the remaining processes, and a missing cgroup is success', async () => {
  const { manager, cgroups, clock } = world();
  await manager.start();
  await manager.ensurePodCgroup(burstable('u1'));
  cgroups.addProcess(`${NAME}/abc`, 4711);
  const removal = manager.removePodCgroup(uid);
  await clock.advance(10);
  await removal;
  assert.equal(await cgroups.exists(NAME), false);
  await manager.removePodCgroup(uid);
  await manager.removePodCgroup(podUid('never'));
});

test('a process that does not die is a Conflict after bounded tries, and the next call tries again', async () => {
  const { manager, cgroups, clock } = world();
  await manager.start();
  await manager.ensurePodCgroup(burstable('u1'));
  cgroups.addProcess(NAME, 1234);
  cgroups.unkillable.add(1234);
  const removal = assert.rejects(manager.removePodCgroup(uid), (error) => errorKind(error) === 'Conflict');
  await clock.advance(1000);
  await removal;
  cgroups.unkillable.clear();
  const again = manager.removePodCgroup(uid);
  await clock.advance(1000);
  await again;
  assert.equal(await cgroups.exists(NAME), false);
});

test('cgroups of removed pods are removed, those of known pods and of others are not', async () => {
  const { manager, cgroups, clock, log } = world();
  await manager.start();
  await cgroups.ensure('/kubepods/podold', {});
  await cgroups.ensure('/kubepods/besteffort/podstuck', {});
  await cgroups.ensure('/kubepods/foreign', {});
  await cgroups.ensure(NAME, {});
  cgroups.addProcess('/kubepods/besteffort/podstuck', 99);
  cgroups.unkillable.add(99);
  assert.deepEqual([...(await manager.listPodCgroups()).keys()].sort(), ['old', 'stuck', 'u1']);
  for (let round = 0; round < 3; round++) {
    const left = manager.cleanupOrphans(new Set([uid]));
    await clock.advance(1000);
    assert.equal(await left, 1);
  }
  assert.deepEqual([...cgroups.groups.keys()].sort(), [
    '/kubepods',
    '/kubepods/besteffort',
    '/kubepods/besteffort/podstuck',
    '/kubepods/burstable',
    NAME,
    '/kubepods/foreign',
  ]);
  assert.equal(log.lines.filter((line) => line.level === 'warn').length, 1);
  await manager.stop();
});

test('an agent that may not create cgroups logs so once and still names them', async () => {
  const { manager, cgroups, clock, log } = world();
  cgroups.fail('ensure', { name: '/kubepods', kind: 'Internal' });
  await manager.start();
  assert.deepEqual(await manager.ensurePodCgroup(burstable('u1')), { cgroupParent: NAME, existed: true });
  manager.podsChanged();
  await clock.advance(120_000);
  assert.deepEqual(
    log.lines.map((line) => line.level),
    ['warn'],
  );
});

test('class cgroups are created with their limits when an unavailable backend is back', async () => {
  const { manager, cgroups, clock, rootReports, pods } = world();
  pods.push(burstable('u1'));
  cgroups.fail('ensure', { name: '/kubepods', kind: 'Unavailable', times: 3 });
  await manager.start();
  await assert.rejects(manager.ensurePodCgroup(burstable('u1')), (error) => errorKind(error) === 'Unavailable');
  await clock.advance(5000);
  assert.deepEqual(
    [cgroups.limitsOf('/kubepods'), cgroups.limitsOf('/kubepods/burstable'), rootReports],
    [{ memoryBytes: 2 ** 30 }, { cpuShares: 512 }, ['in force']],
  );
  assert.deepEqual(await manager.ensurePodCgroup(burstable('u1')), { cgroupParent: NAME, existed: false });
  await manager.stop();
});

test('with cgroupsPerQOS off there is no parent and nothing is created', async () => {
  const { manager, cgroups } = world({ cgroupsPerQOS: false });
  await manager.start();
  assert.deepEqual(
    [await manager.ensurePodCgroup(burstable('u1')), cgroups.calls],
    [{ cgroupParent: '', existed: true }, []],
  );
});

test('a pod that comes back while its old cgroup is being removed gets a new one', async () => {
  const { manager, cgroups, clock } = world();
  await manager.start();
  await manager.ensurePodCgroup(burstable('u1'));
  cgroups.addProcess(NAME, 5);
  const removal = manager.removePodCgroup(uid);
  const ensured = manager.ensurePodCgroup(burstable('u1'));
  await clock.advance(100);
  await removal;
  assert.deepEqual([await ensured, await cgroups.exists(NAME)], [{ cgroupParent: NAME, existed: false }, true]);
  await manager.stop();
});

test('limits of all pods together that the kernel refuses keep no pod from its cgroup, are reported once, and retried', async () => {
  const { manager, cgroups, clock, rootReports } = world();
  cgroups.fail('update', { name: '/kubepods', kind: 'Conflict', times: 2 });
  await manager.start();
  assert.deepEqual(await manager.ensurePodCgroup(burstable('u1')), { cgroupParent: NAME, existed: false });
  await clock.advance(120_000);
  assert.deepEqual(
    [rootReports, cgroups.limitsOf('/kubepods')],
    [['update /kubepods: scripted Conflict', 'in force'], { memoryBytes: 2 ** 30 }],
  );
});

test('limits of all pods together follow the node', async () => {
  const { manager, cgroups, clock, root } = world();
  await manager.start();
  root.memoryBytes = 2 ** 29;
  await clock.advance(60_000);
  assert.deepEqual(cgroups.limitsOf('/kubepods'), { memoryBytes: 2 ** 29 });
});

test("a running pod's cgroup can be read and changed; a change of requests reaches its class", async () => {
  const { manager, cgroups, clock, pods } = world();
  await manager.start();
  assert.equal(await manager.read(burstable('u1')), undefined);
  await manager.ensurePodCgroup(burstable('u1'));
  const grown = burstable('u1', '1');
  pods.push(grown);
  await manager.update(grown, { cpuShares: manager.wanted(grown).cpuShares ?? 0 });
  await clock.settle();
  assert.deepEqual(
    [(await manager.read(grown))?.cpuShares, cgroups.limitsOf('/kubepods/burstable')],
    [1024, { cpuShares: 1024 }],
  );
});

const wantsMemory = (name: string): Pod => ({
  metadata: { name, namespace: 'n', uid: name },
  spec: { containers: [{ name: 'c', image: 'x', resources: { requests: { cpu: '500m', memory: '1Gi' } } }] },
});
const GIB = 2 ** 30;

test('with qosReserved lower classes lose what higher ones request, but never get less than they use', async () => {
  const { manager, cgroups, clock, pods } = world({
    qosMemory: { reservedPercent: 100, memoryForPodsBytes: 4 * GIB, memoryQos: undefined },
  });
  cgroups.memoryUsage.set('/kubepods/besteffort', 3.5 * GIB);
  await manager.start();
  pods.push(wantsMemory('b'));
  manager.podsChanged();
  await clock.settle();
  const limits = (name: string) => cgroups.limitsOf(`/kubepods/${name}`)?.memoryBytes;
  assert.deepEqual([limits('burstable'), limits('besteffort')], [4 * GIB, 3.5 * GIB]);
  cgroups.memoryUsage.set('/kubepods/besteffort', GIB);
  await clock.advance(60_000);
  assert.equal(limits('besteffort'), 3 * GIB);
  await manager.stop();
});

test('with MemoryQoS the groups of all pods and of burstable ones protect what is requested, which is counted', async () => {
  const { manager, cgroups, clock, pods, protectedBytes } = world({
    qosMemory: {
      reservedPercent: undefined,
      memoryForPodsBytes: 4 * GIB,
      memoryQos: { throttlingFactor: 0.9, reservesRequests: true },
    },
  });
  await manager.start();
  pods.push(wantsMemory('b'));
  manager.podsChanged();
  await clock.settle();
  assert.deepEqual(cgroups.limitsOf('/kubepods'), { memoryBytes: GIB, unified: { 'memory.min': String(GIB) } });
  assert.deepEqual(cgroups.limitsOf('/kubepods/burstable')?.unified, { 'memory.low': String(GIB) });
  assert.deepEqual(protectedBytes.at(-1), { min: 0, low: GIB });
  await manager.stop();
});
