import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seededRandom } from '../../base/random.ts';
import type { Backend, Peer } from './overlay-node.ts';
import type { OverlaySettings, OwnSide } from './plan-overlay.ts';
import { planOverlay } from './plan-overlay.ts';
import { commandOf } from './step-commands.ts';
import { cable, FakeKernel } from './testing/fake-kernel.ts';

const settings: OverlaySettings = { backend: 'vxlan', vni: 1, port: 8472 };
const own: OwnSide = {
  nodeName: 'node-1',
  network: '10.244.0.0/16',
  range: '10.244.1.0/24',
  publicIp: '192.168.0.1',
  device: 'eth0',
  deviceMtu: 1500,
  knownMac: '02:00:00:00:00:01',
};
const peer = (at: number, more: { host?: number; mac?: number; backend?: Backend } = {}): Peer => ({
  name: `node-${at}`,
  since: '2026-01-01T00:00:00Z',
  backend: more.backend ?? 'vxlan',
  ipv4: {
    range: `10.244.${at}.0/24`,
    publicIp: `192.168.0.${more.host ?? at}`,
    mac: `02:00:00:00:00:${(more.mac ?? at).toString(16).padStart(2, '0')}`,
  },
});

describe('the plan of the network between nodes', () => {
  it('makes what flannel makes: a device, and for each peer an entry, a neighbour and a route', async () => {
    const actual = await new FakeKernel([cable('192.168.0.1')]).read();
    const { steps, mac, mtu } = planOverlay('ipv4', own, { settings, peers: [peer(1), peer(2)], actual });
    assert.deepEqual(
      steps.map((step) => Object.values(commandOf(step)).join(' ')),
      [
        'ip link add flannel.1 address 02:00:00:00:00:01 mtu 1450 type vxlan id 1 dev eth0 local 192.168.0.1 dstport 8472 nolearning',
        'ip address replace 10.244.1.0/32 dev flannel.1',
        'ip link set flannel.1 mtu 1450 up',
        'bridge fdb replace 02:00:00:00:00:02 dev flannel.1 dst 192.168.0.2 self permanent',
        'ip neighbour replace 10.244.2.0 lladdr 02:00:00:00:00:02 dev flannel.1 nud permanent',
        'ip route replace 10.244.2.0/24 via 10.244.2.0 dev flannel.1 onlink proto 84',
      ],
    );
    assert.deepEqual([mac, mtu], ['02:00:00:00:00:01', 1450]);
  });

  it('routes by the addresses of nodes with host-gw, and removes only routes of its own', async () => {
    const kernel = new FakeKernel([cable('192.168.0.1')]);
    kernel.routes = [
      { range: '10.244.9.0/24', gateway: '192.168.0.9', device: 'eth0', protocol: '84' },
      { range: '172.16.0.0/16', gateway: '192.168.0.254', device: 'eth0', protocol: 'boot' },
    ];
    const { steps, mtu } = planOverlay('ipv4', own, {
      settings: { ...settings, backend: 'host-gw' },
      peers: [peer(2, { backend: 'host-gw' }), peer(3)],
      actual: await kernel.read(),
    });
    assert.deepEqual(
      steps.map((step) => commandOf(step).line),
      ['route del 10.244.9.0/24 dev eth0 proto 84', 'route replace 10.244.2.0/24 via 192.168.0.2 dev eth0 proto 84'],
    );
    assert.equal(mtu, 1500);
  });

  it('keeps the device that another program made with the same settings, and its hardware address', async () => {
    const kernel = new FakeKernel([cable('192.168.0.1')]);
    await kernel.apply(
      planOverlay(
        'ipv4',
        { ...own, knownMac: '02:aa:aa:aa:aa:aa' },
        { settings, peers: [], actual: await kernel.read() },
      ).steps,
    );
    const { steps, mac } = planOverlay('ipv4', own, { settings, peers: [], actual: await kernel.read() });
    assert.deepEqual([steps, mac], [[], '02:aa:aa:aa:aa:aa']);
    const other = planOverlay('ipv4', own, {
      settings: { ...settings, port: 4789 },
      peers: [],
      actual: await kernel.read(),
    });
    assert.deepEqual(
      other.steps.map(({ kind }) => kind),
      ['deleteLink', 'createVxlan', 'addAddress', 'setLink'],
    );
  });

  it('leaves out nodes that would take the traffic of others', async () => {
    const actual = await new FakeKernel([cable('192.168.0.1')]).read();
    const thief: Peer = {
      ...peer(7),
      name: 'thief',
      since: '2026-01-02T00:00:00Z',
      ipv4: { range: '10.244.0.0/16', publicIp: '192.168.0.7', mac: '02:00:00:00:00:07' },
    };
    const twin: Peer = { ...peer(2), name: 'twin', since: '2026-01-02T00:00:00Z' };
    const stranger: Peer = {
      ...peer(5),
      name: 'stranger',
      since: '2026-01-02T00:00:00Z',
      ipv4: { range: '10.99.0.0/24', publicIp: '192.168.0.5', mac: undefined },
    };
    const mask: Peer = { ...peer(6, { mac: 2 }), name: 'mask', since: '2026-01-02T00:00:00Z' };
    const { refused } = planOverlay('ipv4', own, {
      settings,
      peers: [twin, thief, stranger, mask, peer(2), peer(4, { host: 1 })],
      actual,
    });
    assert.deepEqual(
      refused.map(({ name, why }) => `${name}: ${why}`),
      [
        'node-4: it has the address of this node, 192.168.0.1',
        'mask: another node has the hardware address 02:00:00:00:00:02',
        'stranger: its range 10.99.0.0/24 is not part of 10.244.0.0/16',
        'thief: another node has 10.244.0.0/16',
        'twin: another node has 10.244.2.0/24',
      ],
    );
  });

  it('reaches the same state from any other, in one round, and then does nothing', async () => {
    for (let seed = 1; seed <= 60; seed++) {
      const random = seededRandom(seed);
      const below = (limit: number): number => Math.floor(random.next() * limit);
      const kernel = new FakeKernel([cable('192.168.0.1')]);
      for (let round = 0; round < 12; round++) {
        const backend: Backend = seed % 3 === 0 ? 'host-gw' : 'vxlan';
        const peers = Array.from({ length: below(8) }, (_, at) =>
          peer(at + 2, { host: 2 + below(20), mac: 16 * (at + 1) + below(16), backend }),
        );
        // Someone else's hand: entries vanish, others appear.
        if (below(3) === 0) kernel.routes = kernel.routes.filter(() => below(2) === 0);
        if (below(3) === 0) kernel.neighbours = kernel.neighbours.filter(() => below(2) === 0);
        if (below(3) === 0) kernel.forwarding = kernel.forwarding.filter(() => below(2) === 0);
        if (below(4) === 0) kernel.removeLink('flannel.1');
        if (below(4) === 0 && kernel.links.length > 1)
          kernel.forwarding.push({
            mac: `02:00:00:00:ff:${10 + below(80)}`,
            remote: '192.168.0.99',
            device: 'flannel.1',
          });
        const input = async (): Promise<Parameters<typeof planOverlay>[2]> => ({
          settings: { ...settings, backend },
          peers,
          actual: await kernel.read(),
        });
        await kernel.apply(planOverlay('ipv4', own, await input()).steps);
        assert.deepEqual(planOverlay('ipv4', own, await input()).steps, [], `seed ${seed}, round ${round}`);
        const routes = kernel.routes.map(({ range }) => range).toSorted();
        assert.deepEqual(
          routes,
          peers.map((each) => each.ipv4?.range ?? '').toSorted(),
          `seed ${seed}, round ${round}`,
        );
        if (backend === 'vxlan')
          assert.deepEqual([kernel.neighbours.length, kernel.forwarding.length], [peers.length, peers.length]);
      }
    }
  });
});
