import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { silentLogger } from '../../../base/log.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { FakeDraDriver } from '../../ports/testing/fake-dra-driver.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { crc32, decodeClaims, encodeClaims } from './claim-checkpoint.ts';
import { DraManager } from './dra-manager.ts';
import { DraDriverRegistry } from './driver-registry.ts';

const signal = new AbortController().signal;
const path = '/var/lib/kubelet/dra_manager_state';
const plugin = {
  name: 'd.example.com',
  endpoint: '/d.sock',
  versions: ['v1beta1.DRAPlugin', 'v1.DRAPlugin'],
  socketPath: '/reg.sock',
};

function podOf(name: string): Pod {
  return buildPod({
    'metadata.name': name,
    'metadata.uid': `uid-${name}`,
    'spec.resourceClaims': [{ name: 'dev', resourceClaimName: 'gpu' }],
    'spec.containers[0].resources': { claims: [{ name: 'dev', request: 'r' }] },
  });
}
function claimFor(...users: readonly string[]): ResourceClaim {
  return {
    metadata: { name: 'gpu', namespace: 'default', uid: 'c1' },
    spec: { devices: {} },
    status: {
      allocation: {
        devices: { results: [{ request: 'r', driver: 'd.example.com', pool: 'p', device: 'g0' }] },
      },
      reservedFor: users.map((name) => ({ resource: 'pods', name, uid: `uid-${name}` })),
    },
  };
}

const device = {
  poolName: 'p',
  deviceName: 'g0',
  requestNames: ['r'],
  cdiDeviceIds: ['d/gpu=0'],
  shareId: undefined,
};

class Fixture {
  readonly clock = new FakeClock();
  readonly files = new FakeHostFiles(this.clock);
  readonly driver = new FakeDraDriver([device]);
  readonly calls = this.driver.calls;
  readonly operations: string[] = [];
  readonly registry: DraDriverRegistry;
  claim: ResourceClaim = claimFor('a', 'b');
  manager: DraManager;

  constructor() {
    this.registry = new DraDriverRegistry({
      drivers: {
        open: (socket, version) => {
          this.calls.push(`open ${socket} ${version}`);
          return this.driver;
        },
      },
    });
    this.manager = this.restarted();
  }

  restarted(): DraManager {
    const { registry: drivers, files, clock } = this;
    this.manager = new DraManager({
      drivers,
      files,
      path,
      clock,
      log: silentLogger,
      fetchClaim: async () => this.claim,
      onOperation: ({ name, isError }) => void this.operations.push(`${name} ${isError}`),
    });
    return this.manager;
  }

  async saved(): Promise<readonly string[] | undefined> {
    const claims = decodeClaims(await this.files.readText(path, 1e6));
    return claims?.map(({ uid, podUids }) => `${uid}: ${[...podUids].join()}`);
  }
}

async function setUp(): Promise<Fixture> {
  const world = new Fixture();
  await world.files.makeDirectory('/var/lib/kubelet', 0o750);
  world.registry.validate(plugin);
  await world.registry.register(plugin);
  return world;
}
const mainOf = (pod: Pod) => pod.spec.containers[0] as Pod['spec']['containers'][number];

test('a claim is prepared once for its pods, and unprepared after the last of them', async () => {
  const world = await setUp();
  const { manager } = world;
  for (const pod of [podOf('a'), podOf('b'), podOf('a')]) await manager.prepare(pod, signal);
  assert.deepEqual(manager.cdiDevices(podOf('a'), mainOf(podOf('a'))), ['d/gpu=0']);
  assert.deepEqual(await world.saved(), ['c1: uid-a,uid-b']);
  await manager.unprepare('uid-a', signal);
  assert.deepEqual(await world.saved(), ['c1: uid-b']);
  await manager.unprepare('uid-b', signal);
  assert.deepEqual(await world.saved(), []);
  assert.deepEqual(world.calls, ['open /d.sock v1', 'prepare default/gpu/c1', 'unprepare c1']);
  assert.deepEqual(world.operations, [
    ...Array.from({ length: 3 }, () => 'PrepareResources false'),
    ...Array.from({ length: 2 }, () => 'UnprepareResources false'),
  ]);
});

test('a driver gets all claims of a pod in one call, and a retry has only the claims whose unprepare failed', async () => {
  const world = await setUp();
  const names = ['gpu', 'nic'];
  const pod = buildPod({
    'metadata.name': 'a',
    'metadata.uid': 'uid-a',
    'spec.resourceClaims': names.map((name) => ({ name, resourceClaimName: name })),
  });
  const manager = new DraManager({
    drivers: world.registry,
    files: world.files,
    path,
    clock: world.clock,
    log: silentLogger,
    fetchClaim: async (_namespace, name) => ({
      ...claimFor('a'),
      metadata: { name, namespace: 'default', uid: `c-${name}` },
    }),
  });
  const calls: string[] = [];
  let refused = 'nic';
  let skipped = '';
  const note = (call: string, claims: readonly { name: string }[]): void =>
    void calls.push(`${call} ${claims.map(({ name }) => name).join()}`);
  world.driver.prepare = async (claims) => {
    note('prepare', claims);
    const answered = claims.filter(({ name }) => name !== skipped);
    return new Map(
      answered.map(({ uid, name }) => [uid, { devices: [device], error: name === refused ? 'busy' : '' }]),
    );
  };
  world.driver.unprepare = async (claims) => {
    note('unprepare', claims);
    return new Map(claims.map(({ uid, name }) => [uid, name === refused ? 'busy' : '']));
  };
  await assert.rejects(manager.prepare(pod, signal), {
    message: 'NodePrepareResources failed for ResourceClaim nic: busy',
  });
  [refused, skipped] = ['', 'gpu'];
  await assert.rejects(manager.prepare(pod, signal), { message: 'NodePrepareResources skipped 1 ResourceClaims' });
  [refused, skipped] = ['gpu', ''];
  await assert.rejects(manager.prepare(pod, signal), /ResourceClaim gpu: busy/);
  refused = '';
  await manager.prepare(pod, signal);
  await manager.prepare(pod, signal);
  refused = 'gpu';
  await assert.rejects(manager.unprepare('uid-a', signal), {
    message: 'NodeUnprepareResources failed for ResourceClaim gpu: busy',
  });
  assert.deepEqual(await world.saved(), ['c-gpu: uid-a'], 'the other one is forgotten');
  refused = '';
  await manager.unprepare('uid-a', signal);
  assert.deepEqual(await world.saved(), []);
  assert.deepEqual(calls, [
    ...Array.from({ length: 4 }, () => 'prepare gpu,nic'),
    'unprepare gpu,nic',
    'unprepare gpu',
  ]);
});

test('claims that two pods share in another order are prepared one pod after the other', async () => {
  const world = await setUp();
  const podWith = (name: string, claims: readonly string[]): Pod =>
    buildPod({
      'metadata.name': name,
      'metadata.uid': `uid-${name}`,
      'spec.resourceClaims': claims.map((claim) => ({ name: claim, resourceClaimName: claim })),
    });
  const manager = new DraManager({
    drivers: world.registry,
    files: world.files,
    path,
    clock: world.clock,
    log: silentLogger,
    fetchClaim: async (_namespace, name) => ({
      ...claimFor('a', 'b'),
      metadata: { name, namespace: 'default', uid: `c-${name}` },
    }),
  });
  await Promise.all([
    manager.prepare(podWith('a', ['gpu', 'nic']), signal),
    manager.prepare(podWith('b', ['nic', 'gpu']), signal),
  ]);
  assert.deepEqual((await world.saved())?.toSorted(), ['c-gpu: uid-a,uid-b', 'c-nic: uid-a,uid-b']);
});

test('only pods that the claim is reserved for may use it', async () => {
  const world = await setUp();
  await assert.rejects(
    world.manager.prepare(podOf('stranger'), signal),
    /pod stranger \(uid-stranger\) is not allowed to use ResourceClaim gpu \(c1\)/,
  );
  assert.deepEqual(world.calls, ['open /d.sock v1']);
});

test('a claim is saved before the driver prepares it, and is unprepared after a restart', async () => {
  const world = await setUp();
  world.driver.error = 'no power';
  await assert.rejects(
    world.manager.prepare(podOf('a'), signal),
    /NodePrepareResources failed for ResourceClaim gpu: no power/,
  );
  assert.deepEqual(await world.saved(), ['c1: uid-a']);
  const manager = world.restarted();
  await manager.start();
  await assert.rejects(manager.unprepare('uid-a', signal), /NodeUnprepareResources failed for ResourceClaim gpu/);
  world.driver.error = '';
  await manager.unprepare('uid-a', signal);
  assert.deepEqual(await world.saved(), []);
});

test('the devices of a running pod are known after a restart, without a call', async () => {
  const world = await setUp();
  await world.manager.prepare(podOf('a'), signal);
  const { length } = world.calls;
  const manager = world.restarted();
  await manager.start();
  assert.deepEqual(manager.cdiDevices(podOf('a'), mainOf(podOf('a'))), ['d/gpu=0']);
  assert.equal(world.calls.length, length);
  world.claim = { ...claimFor('a'), metadata: { name: 'gpu', namespace: 'default', uid: 'c2' } };
  await assert.rejects(
    manager.prepare(podOf('a'), signal),
    /old ResourceClaim with same name gpu and different UID c1 still exists/,
  );
});

test('a driver that is not registered keeps the pod waiting, and so does a claim that is not created', async () => {
  const world = await setUp();
  world.registry.deregister(plugin);
  await assert.rejects(world.manager.prepare(podOf('a'), signal), /DRA driver d.example.com is not registered/);
  // Nothing was begun: the pod can be deleted without the driver.
  await world.manager.unprepare('uid-a', signal);
  const pod = buildPod({ 'spec.resourceClaims': [{ name: 'dev', resourceClaimTemplateName: 't' }] });
  await assert.rejects(world.manager.prepare(pod, signal), /pod "default\/web": ResourceClaim not created yet/);
  assert.throws(
    () => world.registry.validate({ ...plugin, versions: ['v2.DRAPlugin'] }),
    /offers none of the services/,
  );
});

test('a claim that was generated for another pod is refused, although it is reserved', async () => {
  const world = await setUp();
  const pod = buildPod({
    'metadata.name': 'a',
    'metadata.uid': 'uid-a',
    'spec.resourceClaims': [{ name: 'dev', resourceClaimTemplateName: 't' }],
    'status.resourceClaimStatuses': [{ name: 'dev', resourceClaimName: 'gpu' }],
  });
  await assert.rejects(
    world.manager.prepare(pod, signal),
    /ResourceClaim default\/gpu was not created for Pod default\/a \(Pod is not owner\)/,
  );
});

test('claims of pods that went while the agent was down are unprepared', async () => {
  const world = await setUp();
  for (const pod of [podOf('a'), podOf('b')]) await world.manager.prepare(pod, signal);
  const manager = world.restarted();
  await manager.start();
  await manager.unprepareInactive((uid) => uid === 'uid-b', signal);
  assert.deepEqual(await world.saved(), ['c1: uid-b']);
  world.driver.error = 'busy';
  await manager.unprepareInactive(() => false, signal);
  assert.deepEqual(await world.saved(), ['c1: uid-b']);
  world.driver.error = '';
  await manager.unprepareInactive(() => false, signal);
  assert.deepEqual(await world.saved(), []);
});

test('the claim that the scheduler made for extended resources is prepared for the containers that it names', async () => {
  const world = await setUp();
  const mapping = { containerName: 'main', resourceName: 'example.com/gpu', requestName: 'r' };
  const pod = buildPod({
    'metadata.name': 'a',
    'metadata.uid': 'uid-a',
    'spec.containers[0].name': 'main',
    'status.extendedResourceClaimStatus': { resourceClaimName: 'gpu', requestMappings: [mapping] },
  });
  await world.manager.prepare(pod, signal);
  assert.deepEqual(world.manager.cdiDevices(pod, mainOf(pod)), ['d/gpu=0']);
  assert.deepEqual(world.manager.cdiDevices(pod, { ...mainOf(pod), name: 'other' }), []);
  await world.manager.unprepare('uid-a', signal);
  assert.deepEqual(await world.saved(), []);
});

test('claims are counted, and listed with the devices that a container uses', async () => {
  const world = await setUp();
  const pod = podOf('a');
  assert.deepEqual([...world.manager.claimsInUse()], [['<any>', 0]]);
  await world.manager.prepare(pod, signal);
  assert.deepEqual(
    [...world.manager.claimsInUse()],
    [
      ['<any>', 1],
      ['d.example.com', 1],
    ],
  );
  assert.deepEqual(
    world.manager.claimsOf(pod, mainOf(pod)).map(({ name }) => name),
    ['gpu'],
  );
  assert.deepEqual([...world.manager.podsUsing('d.example.com', new Set(['p/g0']))], ['uid-a']);
  assert.deepEqual([...world.manager.podsUsing('d.example.com', new Set(['p/g1']))], []);
});

test('an answer that is too large is refused, so that the checkpoint of a full node can be read', async () => {
  const world = await setUp();
  world.driver.devices = Array.from({ length: 2000 }, (_, index) => ({
    ...device,
    deviceName: `g${index}`,
    cdiDeviceIds: ['x'.repeat(100)],
  }));
  await assert.rejects(
    world.manager.prepare(podOf('a'), signal),
    /answered with \d+ bytes for ResourceClaim gpu, at most 131072/,
  );
});

test('a driver that is connected is preferred to one that registered later and is away', async () => {
  const world = await setUp();
  const second = new FakeDraDriver([device]);
  const registry = new DraDriverRegistry({
    drivers: { open: (socket) => (socket === '/second.sock' ? second : world.driver) },
  });
  await registry.register(plugin);
  await registry.register({ ...plugin, endpoint: '/second.sock', socketPath: '/reg-2.sock' });
  assert.equal(registry.get(plugin.name), second);
  second.connect(false);
  assert.equal(registry.get(plugin.name), world.driver);
  world.driver.connect(false);
  assert.equal(registry.get(plugin.name), second);
});

test('a checkpoint that is cut or changed is set aside', async () => {
  const world = await setUp();
  await world.manager.prepare(podOf('a'), signal);
  const text = await world.files.readText(path, 1e6);
  for (const broken of ['', text.slice(0, -9), text.replace('uid-a', 'uid-b'), '{"Data":"null","Checksum":1}', '[]']) {
    assert.equal(decodeClaims(broken), undefined, broken);
    await world.files.writeFileAtomic(path, broken, 0o600);
    await world.restarted().start();
    assert.equal(await world.files.readText(`${path}.corrupt`, 1e6), broken);
  }
});

test('the checkpoint is that of upstream', () => {
  assert.equal(crc32('123456789'), 0xcbf43926);
  const kept = { ...device, cdiDeviceIds: ['x'] };
  const claim = {
    uid: 'c1',
    name: 'gpu',
    namespace: 'default',
    podUids: new Set(['u']),
    drivers: new Map([['d', [kept]]]),
  };
  const text = encodeClaims([claim]);
  const { Data } = JSON.parse(text) as { Data: string };
  assert.equal(
    Data,
    '{"kind":"DRACheckpoint","apiVersion":"checkpoint.dra.kubelet.k8s.io/v1","ClaimInfoStateList":[{"ClaimUID":"c1","ClaimName":"gpu","Namespace":"default","PodUIDs":{"u":{}},"DriverState":{"d":{"Devices":[{"PoolName":"p","DeviceName":"g0","ShareID":null,"RequestNames":["r"],"CDIDeviceIDs":["x"]}]}}}]}',
  );
  assert.deepEqual(decodeClaims(text), [claim]);
});
