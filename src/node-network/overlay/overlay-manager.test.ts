import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createInformers } from '../../api/client/informer.ts';
import { nodes } from '../../api/client/resource-types.ts';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import type { Node } from '../../api/core/node.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { recordingLog } from '../../base/testing/recording-log.ts';
import { FakePacketFilter } from '../service-routing/testing/fake-packet-filter.ts';
import type { Overlay, OverlayOptions } from './overlay-manager.ts';
import { createOverlay } from './overlay-manager.ts';
import { cable, FakeKernel } from './testing/fake-kernel.ts';

const key = (name: string): string => `flannel.alpha.coreos.com/${name}`;

class Fixture {
  readonly clock = new FakeClock();
  readonly api = new FakeApiClient({ clock: this.clock, random: seededRandom(1) });
  readonly kernel = new FakeKernel([cable('192.168.0.1')]);
  readonly filters = { ipv4: new FakePacketFilter(), ipv6: new FakePacketFilter() };
  readonly files = new Map<string, string>();
  readonly log = recordingLog();
  /** Paths in the order of writing. */
  readonly written: string[] = [];
  readonly overlay: Overlay;
  isJoined = false;
  readonly #informers;

  constructor(options: Partial<OverlayOptions> = {}) {
    const parts = { client: this.api, clock: this.clock, random: seededRandom(2), log: this.log };
    this.#informers = createInformers(parts);
    this.overlay = createOverlay(
      {
        ...{ nodeName: 'one', backend: 'vxlan', vni: 1, port: 8472, networks: { ipv4: '10.244.0.0/16' } },
        ...{ publicIps: {}, serviceCidrs: { ipv4: '10.96.0.0/16' }, chainPrefix: 'KTO', subnetFile: '/run/subnet.env' },
        cni: { file: '/etc/cni.conflist', networkName: 'cbr0', bridge: 'cni0', dataDir: undefined },
        ...options,
      },
      {
        ...parts,
        informers: this.#informers,
        kernel: this.kernel,
        filters: this.filters,
        writeFile: (path, text) => {
          this.written.push(path);
          this.files.set(path, text);
        },
      },
    );
    void this.overlay.whenJoined().then(() => (this.isJoined = true));
  }

  /** What was logged above info. */
  get complaints(): string[] {
    return this.log.lines.filter(({ level }) => level !== 'info').map(({ message }) => message);
  }

  get patches(): number {
    return this.api.calls.filter(({ verb }) => verb === 'patch').length;
  }

  changeOwn(change: (node: Node) => Node): void {
    this.api.change(nodes, { namespace: '', name: 'one' }, change);
  }

  annotation(name: string): string | undefined {
    return this.own.metadata.annotations?.[key(name)];
  }

  async start(): Promise<void> {
    this.overlay.start();
    this.#informers.start();
    await this.clock.advance(200);
  }

  addPeer(name: string, at: number): void {
    const annotations = {
      [key('kube-subnet-manager')]: 'true',
      [key('backend-type')]: 'vxlan',
      [key('backend-data')]: `{"VNI":1,"VtepMAC":"02:00:00:00:00:0${at}"}`,
      [key('public-ip')]: `192.168.0.${at}`,
    };
    this.api.seed(nodes, {
      metadata: { name, namespace: '', uid: '', annotations },
      spec: { podCIDRs: [`10.244.${at}.0/24`] },
    });
  }

  get own(): Node {
    return this.api.all(nodes).find(({ metadata }) => metadata.name === 'one') ?? assert.fail('no node');
  }

  get remotes(): string[] {
    return this.kernel.forwarding.map(({ mac, remote }) => `${mac.slice(-2)} ${remote}`);
  }

  async stop(): Promise<void> {
    await this.overlay.stop();
    await this.#informers.stop();
  }
}

const ownNode: Node = {
  metadata: { name: 'one', namespace: '', uid: '' },
  spec: { podCIDRs: ['10.244.1.0/24'] },
  status: { addresses: [{ type: 'InternalIP', address: '192.168.0.1' }] },
};

async function joined(options: Partial<OverlayOptions> = {}, node: Partial<Node> = {}): Promise<Fixture> {
  const world = new Fixture(options);
  world.api.seed(nodes, { ...ownNode, ...node });
  await world.start();
  return world;
}

describe('the network between nodes', () => {
  it('waits for a range, then announces the node and writes its files', async () => {
    const world = new Fixture();
    world.api.seed(nodes, {
      metadata: { name: 'one', namespace: '', uid: '' },
      status: { addresses: [{ type: 'InternalIP', address: '192.168.0.1' }] },
    });
    await world.start();
    assert.deepEqual([world.kernel.steps, world.files.size], [[], 0]);
    world.api.change(nodes, { namespace: '', name: 'one' }, (node) => ({
      ...node,
      spec: { podCIDRs: ['10.244.1.0/24'] },
    }));
    await world.clock.advance(200);
    await world.overlay.whenJoined();
    assert.equal(world.own.metadata.annotations?.[key('public-ip')], '192.168.0.1');
    assert.match(world.own.metadata.annotations?.[key('backend-data')] ?? '', /"VtepMAC":"02:/);
    assert.deepEqual(
      world.own.status?.conditions?.map(({ type, status, reason }) => `${type}=${status} ${reason}`),
      ['NetworkUnavailable=False FlannelIsUp'],
    );
    assert.deepEqual([...world.files.keys()], ['/run/subnet.env', '/etc/cni.conflist']);
    assert.deepEqual(world.kernel.offloaded, ['flannel.1']);
    await world.stop();
  });

  it('has rules of the packet filter in each of two families, each with the services of its own', async () => {
    const world = new Fixture({
      networks: { ipv4: '10.244.0.0/16', ipv6: 'fd84::/56' },
      serviceCidrs: { ipv4: '10.96.0.0/16', ipv6: 'fd84:0:0:ff::/112' },
      publicIps: { ipv4: '192.168.0.1', ipv6: 'fd84:1::1' },
    });
    world.kernel.links = [...world.kernel.links, { ...cable('fd84:1::1'), name: 'eth1' }];
    world.api.seed(nodes, {
      metadata: { name: 'one', namespace: '', uid: '' },
      spec: { podCIDRs: ['10.244.1.0/24', 'fd84:0:0:1::/64'] },
    });
    await world.start();
    await world.overlay.whenJoined();
    const { ipv4, ipv6 } = world.filters;
    assert.match(await ipv4.read(), /-d 10\.96\.0\.0\/16 -j RETURN/);
    assert.doesNotMatch(await ipv4.read(), /fd84/);
    assert.match(await ipv6.read(), /-s fd84::\/56 ! -d ff00::\/8 -j MASQUERADE/);
    assert.match(await ipv6.read(), /-d fd84:0:0:ff::\/112 -j RETURN/);
    const { annotations = {} } = world.own.metadata;
    assert.deepEqual([annotations[key('public-ip')], annotations[key('public-ipv6')]], ['192.168.0.1', 'fd84:1::1']);
    assert.match(annotations[key('backend-v6-data')] ?? '', /VtepMAC/);
    assert.match(world.files.get('/etc/cni.conflist') ?? '', /fd84:0:0:1::\/64/);
    await world.stop();
  });

  it('follows nodes that come, go, and are replaced under the same name', async () => {
    const world = await joined();
    world.addPeer('two', 2);
    await world.clock.advance(100);
    assert.deepEqual(world.remotes, ['02 192.168.0.2']);
    await world.api.delete(nodes, { namespace: '', name: 'two' });
    world.addPeer('two', 3);
    await world.clock.advance(100);
    assert.deepEqual(world.remotes, ['03 192.168.0.3']);
    assert.deepEqual(
      world.kernel.routes.map(({ range }) => range),
      ['10.244.3.0/24'],
    );
    await world.api.delete(nodes, { namespace: '', name: 'two' });
    await world.clock.advance(100);
    assert.deepEqual([world.remotes, world.kernel.routes, world.kernel.neighbours], [[], [], []]);
    await world.stop();
  });

  it('restores what another hand removed when the kernel reports it, and its own annotations', async () => {
    const world = await joined();
    world.addPeer('two', 2);
    await world.clock.advance(100);
    const mac = world.kernel.links.at(-1)?.mac;
    world.kernel.disturb((kernel) => kernel.removeLink('flannel.1'), 'Deleted 4: flannel.1: <BROADCAST> mtu 1450');
    await world.clock.advance(100);
    assert.deepEqual([world.remotes, world.kernel.links.at(-1)?.mac], [['02 192.168.0.2'], mac]);
    world.kernel.disturb(
      (kernel) => (kernel.routes = []),
      'Deleted 10.244.2.0/24 via 10.244.2.0 dev flannel.1 proto 84 onlink',
    );
    await world.clock.advance(100);
    assert.equal(world.kernel.routes.length, 1);
    const before = world.kernel.steps.length;
    world.kernel.disturb(() => undefined, '3: eth0: <BROADCAST> mtu 1500');
    await world.clock.advance(100);
    world.api.change(nodes, { namespace: '', name: 'one' }, ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, annotations: {} },
    }));
    await world.clock.advance(100);
    assert.equal(world.own.metadata.annotations?.[key('backend-type')], 'vxlan');
    assert.equal(world.kernel.steps.length, before);
    await world.stop();
  });
});

describe('a node that cannot take part', () => {
  it('says so once, and changes nothing', async () => {
    const world = await joined({}, { spec: {} });
    await world.clock.advance(200_000);
    assert.deepEqual(world.complaints, ['waiting for a range of pod addresses: spec.podCIDR of the node is empty']);
    assert.deepEqual([world.isJoined, world.kernel.steps, world.files.size, world.patches], [false, [], 0, 0]);
    await world.stop();
  });

  it('is not announced while it has no range or no address of any family', async () => {
    for (const [node, complaint] of [
      [{ spec: { podCIDRs: ['fd00::/64'] } }, 'no range of the family; the node takes no part in it'],
      [{ status: {} }, 'no address of the family; the node takes no part in it'],
      [
        { status: { addresses: [{ type: 'ExternalIP' as const, address: '192.168.0.1' }] } },
        'no address of the family; the node takes no part in it',
      ],
      [
        { status: { addresses: [{ type: 'InternalIP' as const, address: 'fd00::1' }] } },
        'no address of the family; the node takes no part in it',
      ],
    ] satisfies [Partial<Node>, string][]) {
      const world = await joined({}, node);
      await world.clock.advance(200_000);
      assert.deepEqual(world.complaints, [complaint]);
      assert.deepEqual([world.isJoined, world.files.size, world.patches], [false, 0, 0], JSON.stringify(node));
      await world.stop();
    }
  });

  it('is tried again each second, and when a device gets an address', async () => {
    const world = new Fixture();
    world.kernel.links = [];
    world.api.seed(nodes, ownNode);
    await world.start();
    const failure = 'unable to set up the network between nodes';
    assert.deepEqual(world.log.lines.at(-1), {
      level: 'error',
      message: failure,
      fields: { error: 'no network device has the address 192.168.0.1', retryMs: 1000 },
    });
    const [before] = [world.log.lines.length];
    await world.clock.advance(5000);
    assert.ok(world.log.lines.length >= before + 3, 'it is tried again');
    world.kernel.disturb(
      (kernel) => (kernel.links = [cable('192.168.0.1')]),
      '2: eth0    inet 192.168.0.1/24 scope global',
    );
    await world.clock.advance(100);
    assert.equal(world.isJoined, true);
    const { length } = world.log.lines;
    await world.clock.advance(100_000);
    assert.equal(world.log.lines.length, length);
    await world.stop();
  });
});

describe('the announcement of the node', () => {
  it('is written once, together with the condition', async () => {
    const world = await joined();
    assert.equal(world.patches, 1);
    world.changeOwn((node) => ({ ...node, metadata: { ...node.metadata, labels: { a: 'b' } } }));
    await world.clock.advance(100_000);
    assert.equal(world.patches, 1);
    const conditions =
      (status: 'True' | 'False', reason: string) =>
      (node: Node): Node => ({
        ...node,
        status: { ...node.status, conditions: [{ type: 'NetworkUnavailable', status, reason }] },
      });
    for (const [status, reason] of [
      ['True', 'FlannelIsUp'],
      ['False', 'Other'],
    ] as const) {
      world.changeOwn(conditions(status, reason));
      await world.clock.advance(100);
      assert.deepEqual(
        world.own.status?.conditions?.map((each) => [each.status, each.reason]),
        [['False', 'FlannelIsUp']],
      );
    }
    assert.equal(world.patches, 3);
    await world.stop();
  });

  it('is only what has changed', async () => {
    const world = await joined();
    world.changeOwn((node) => ({
      ...node,
      metadata: { ...node.metadata, annotations: { ...node.metadata.annotations, [key('public-ip')]: '1.2.3.4' } },
    }));
    await world.clock.advance(100);
    const body = world.api.calls.findLast(({ verb }) => verb === 'patch')?.body;
    assert.deepEqual(body, {
      metadata: { uid: world.own.metadata.uid, annotations: { [key('public-ip')]: '192.168.0.1' } },
    });
    await world.stop();
  });

  it("is the administrator's address where one is set, and the configured one of several", async () => {
    const overwritten = {
      metadata: { ...ownNode.metadata, annotations: { [key('public-ip-overwrite')]: '203.0.113.9' } },
    };
    const world = await joined({}, overwritten);
    assert.equal(world.annotation('public-ip'), '203.0.113.9');
    await world.stop();
    const configured = new Fixture({ publicIps: { ipv4: '10.0.0.7' } });
    configured.kernel.links.push({ ...cable('10.0.0.7'), name: 'eth1', mtu: 1400 });
    configured.api.seed(nodes, ownNode);
    await configured.start();
    assert.equal(configured.annotation('public-ip'), '10.0.0.7');
    assert.match(configured.files.get('/run/subnet.env') ?? '', /^FLANNEL_MTU=1350$/m);
    await configured.stop();
  });

  it('has no data of devices behind host-gw', async () => {
    const world = await joined({ backend: 'host-gw' }, { spec: { podCIDR: '10.244.1.0/24' } });
    assert.deepEqual([world.annotation('backend-type'), world.annotation('backend-data')], ['host-gw', 'null']);
    assert.deepEqual(world.kernel.offloaded, []);
    assert.match(world.files.get('/run/subnet.env') ?? '', /^FLANNEL_SUBNET=10.244.1.1\/24$/m);
    await world.stop();
  });
});

describe('both IP families', () => {
  const networks = { ipv4: '10.244.0.0/16', ipv6: 'fd00:1::/48' };
  const dual: Partial<Node> = {
    spec: { podCIDRs: ['10.244.1.0/24', 'fd00:1::/64'] },
    status: {
      addresses: [
        { type: 'InternalIP', address: '192.168.0.1' },
        { type: 'InternalIP', address: 'fd00::1' },
      ],
    },
  };

  it('have devices of their own, and the smaller MTU of the two', async () => {
    const world = new Fixture({ networks });
    world.kernel.links = [{ ...cable('192.168.0.1'), addresses: ['192.168.0.1/24', 'fd00::1/64'] }];
    world.api.seed(nodes, { ...ownNode, ...dual });
    await world.start();
    assert.deepEqual(world.kernel.offloaded, ['flannel.1', 'flannel-v6.1']);
    assert.deepEqual([world.annotation('public-ip'), world.annotation('public-ipv6')], ['192.168.0.1', 'fd00::1']);
    const file = world.files.get('/run/subnet.env') ?? '';
    assert.match(file, /^FLANNEL_IPV6_SUBNET=fd00:1::1\/64$/m);
    assert.match(file, /^FLANNEL_MTU=1430$/m);
    world.kernel.disturb(
      (kernel) => kernel.removeLink('flannel-v6.1'),
      'Deleted 5: flannel-v6.1: <BROADCAST> mtu 1430',
    );
    await world.clock.advance(100);
    assert.ok(world.kernel.links.some(({ name }) => name === 'flannel-v6.1'));
    await world.stop();
  });

  it('go on with one where the node has no range of the other', async () => {
    const world = await joined({ networks });
    assert.equal(world.isJoined, true);
    assert.deepEqual(world.complaints, ['no address of the family; the node takes no part in it']);
    assert.match(world.files.get('/run/subnet.env') ?? '', /^FLANNEL_MTU=1450$/m);
    await world.stop();
  });
});

describe('the rules of the network', () => {
  const rules = (world: Fixture): string => (world.filters.ipv4.rules('nat', 'KTO-POSTROUTING') ?? []).join('\n');

  it('are written, and again when another program has removed them', async () => {
    const world = await joined();
    const all = world.filters.ipv4.chainNames('nat').filter((name) => name.startsWith('KTO'));
    assert.ok(all.length > 0, 'chains of the overlay');
    assert.equal(world.filters.ipv4.writes, 1);
    await world.clock.advance(200_000);
    assert.equal(world.filters.ipv4.writes, 1);
    world.filters.ipv4.flush('nat');
    await world.clock.advance(100_000);
    assert.equal(world.filters.ipv4.writes, 2);
    assert.ok(
      all.some((name) => (world.filters.ipv4.rules('nat', name) ?? []).length > 0),
      rules(world),
    );
    await world.stop();
  });

  it('follow the range of the node at once', async () => {
    const world = await joined();
    world.changeOwn((node) => ({ ...node, spec: { podCIDRs: ['10.244.9.0/24'] } }));
    await world.clock.advance(100);
    assert.equal(world.filters.ipv4.writes, 2);
    const text = world.filters.ipv4
      .chainNames('nat')
      .flatMap((name) => world.filters.ipv4.rules('nat', name) ?? [])
      .join('\n');
    assert.match(text, /10\.244\.9\.0\/24/);
    assert.doesNotMatch(text, /10\.244\.1\.0\/24/);
    await world.stop();
  });

  it('are tried again when they were refused', async () => {
    const world = new Fixture();
    world.filters.ipv4.failures = 1;
    world.api.seed(nodes, ownNode);
    await world.start();
    assert.equal(world.isJoined, false);
    await world.clock.advance(2000);
    assert.equal(world.isJoined, true);
    await world.stop();
  });
});

describe('the files of the node', () => {
  it('are written when they change, the configuration of the CNI last', async () => {
    const world = await joined();
    assert.deepEqual(world.written, ['/run/subnet.env', '/etc/cni.conflist']);
    await world.clock.advance(200_000);
    assert.equal(world.written.length, 2);
    world.changeOwn((node) => ({ ...node, spec: { podCIDRs: ['10.244.9.0/24'] } }));
    await world.clock.advance(100);
    assert.equal(world.written.length, 4);
    await world.stop();
  });

  it('are left alone where another program writes them', async () => {
    const world = await joined({ subnetFile: undefined, cni: undefined });
    assert.deepEqual([world.isJoined, world.written], [true, []]);
    await world.stop();
  });
});

describe('an observer', () => {
  it('has routes to the nodes, without being one', async () => {
    const world = new Fixture({ backend: 'observe', nodeName: 'elsewhere', publicIps: { ipv4: '192.168.0.1' } });
    world.addPeer('two', 2);
    await world.start();
    assert.deepEqual(
      world.kernel.routes.map(({ range, gateway, device }) => [range, gateway, device]),
      [['10.244.2.0/24', '192.168.0.2', 'eth0']],
    );
    assert.deepEqual([world.isJoined, world.written, world.patches, world.filters.ipv4.writes], [true, [], 0, 0]);
    assert.deepEqual(world.kernel.offloaded, []);
    await world.stop();
  });
});

describe('other nodes', () => {
  it('wake nothing by their heartbeats', async () => {
    const world = await joined();
    world.addPeer('two', 2);
    await world.clock.advance(100);
    let reads = 0;
    const { read } = world.kernel;
    world.kernel.read = () => {
      reads += 1;
      return read.call(world.kernel);
    };
    world.api.change(nodes, { namespace: '', name: 'two' }, (node) => ({
      ...node,
      status: { phase: 'Running' as const },
    }));
    await world.clock.advance(1000);
    assert.equal(reads, 0);
    world.api.change(nodes, { namespace: '', name: 'two' }, (node) => ({
      ...node,
      spec: { podCIDRs: ['10.244.7.0/24'] },
    }));
    await world.clock.advance(100);
    assert.equal(reads, 1);
    await world.stop();
  });

  it('are left out once with a warning where they cannot be reached', async () => {
    const world = await joined();
    world.addPeer('two', 2);
    world.addPeer('three', 3);
    world.api.change(nodes, { namespace: '', name: 'three' }, (node) => ({
      ...node,
      spec: { podCIDRs: ['10.244.2.0/24'] },
    }));
    await world.clock.advance(200_000);
    assert.deepEqual(
      world.log.lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields['about']),
      ['two'],
    );
    await world.stop();
  });

  it('are not followed after stop, and the kernel keeps its routes', async () => {
    const world = await joined();
    world.addPeer('two', 2);
    await world.clock.advance(100);
    world.addPeer('three', 3);
    await world.stop();
    const { routes } = world.kernel;
    world.kernel.disturb(() => undefined, 'Deleted 4: flannel.1: <BROADCAST> mtu 1450');
    await world.clock.advance(200_000);
    assert.deepEqual(world.kernel.routes, routes);
    assert.equal(routes.length, 1);
  });
});

describe('the offload of checksums', () => {
  it('is turned off once for a device, and again for one that was made again', async () => {
    const world = await joined();
    await world.clock.advance(200_000);
    assert.deepEqual(world.kernel.offloaded, ['flannel.1']);
    world.kernel.disturb((kernel) => kernel.removeLink('flannel.1'), 'Deleted 4: flannel.1: <BROADCAST> mtu 1450');
    await world.clock.advance(100);
    assert.deepEqual(world.kernel.offloaded, ['flannel.1', 'flannel.1']);
    await world.stop();
  });

  it('is only warned of where it cannot be turned off', async () => {
    const world = new Fixture();
    world.kernel.disableChecksumOffload = () => Promise.reject(new Error('no ethtool'));
    world.api.seed(nodes, ownNode);
    await world.start();
    assert.deepEqual([world.isJoined, world.complaints], [true, ['no ethtool']]);
    await world.stop();
  });
});
