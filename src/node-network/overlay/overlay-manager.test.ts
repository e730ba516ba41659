import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createInformers } from '../../api/client/informer.ts';
import { nodes } from '../../api/client/resource-types.ts';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import type { Node } from '../../api/core/node.ts';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { FakePacketFilter } from '../service-routing/testing/fake-packet-filter.ts';
import type { Overlay } from './overlay-manager.ts';
import { createOverlay } from './overlay-manager.ts';
import { cable, FakeKernel } from './testing/fake-kernel.ts';

const key = (name: string): string => `flannel.alpha.coreos.com/${name}`;

class Fixture {
  readonly clock = new FakeClock();
  readonly api = new FakeApiClient({ clock: this.clock, random: seededRandom(1) });
  readonly kernel = new FakeKernel([cable('192.168.0.1')]);
  readonly files = new Map<string, string>();
  readonly overlay: Overlay;
  readonly #informers;

  constructor() {
    const parts = { client: this.api, clock: this.clock, random: seededRandom(2), log: silentLogger };
    this.#informers = createInformers(parts);
    this.overlay = createOverlay(
      {
        ...{ nodeName: 'one', backend: 'vxlan', vni: 1, port: 8472, networks: { ipv4: '10.244.0.0/16' } },
        ...{ publicIps: {}, serviceCidr: '10.96.0.0/16', chainPrefix: 'KTO', subnetFile: '/run/subnet.env' },
        cni: { file: '/etc/cni.conflist', networkName: 'cbr0', bridge: 'cni0', dataDir: undefined },
      },
      {
        ...parts,
        informers: this.#informers,
        kernel: this.kernel,
        filter: new FakePacketFilter(),
        writeFile: (path, text) => void this.files.set(path, text),
      },
    );
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

async function joined(): Promise<Fixture> {
  const world = new Fixture();
  world.api.seed(nodes, {
    metadata: { name: 'one', namespace: '', uid: '' },
    spec: { podCIDRs: ['10.244.1.0/24'] },
    status: { addresses: [{ type: 'InternalIP', address: '192.168.0.1' }] },
  });
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
