import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seededRandom } from '../../base/random.ts';
import type { Backend, Peer } from './overlay-node.ts';
import type { OverlaySettings, OwnSide } from './plan-overlay.ts';
import { planOverlay, vxlanDevice } from './plan-overlay.ts';
import type { KernelLink, KernelState, VxlanSettings } from './kernel-network.ts';
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
      // From the plan of the other family.
      { range: 'fd00:1:0:9::/64', gateway: 'fd00::9', device: 'eth0', protocol: '84' },
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
    const part: Peer = {
      ...peer(8),
      name: 'part',
      since: '2026-01-02T00:00:00Z',
      ipv4: { range: '10.244.2.128/25', publicIp: '192.168.0.8', mac: '02:00:00:00:00:08' },
    };
    const mask: Peer = { ...peer(6, { mac: 2 }), name: 'mask', since: '2026-01-02T00:00:00Z' };
    const { refused } = planOverlay('ipv4', own, {
      settings,
      peers: [twin, part, thief, stranger, mask, peer(2), peer(4, { host: 1 })],
      actual,
    });
    assert.deepEqual(
      refused.map(({ name, why }) => `${name}: ${why}`),
      [
        'node-4: it has the address of this node, 192.168.0.1',
        'mask: another node has the hardware address 02:00:00:00:00:02',
        'part: its range 10.244.2.128/25 overlaps the range of node node-2',
        'stranger: its range 10.99.0.0/24 is not part of 10.244.0.0/16',
        'thief: its range 10.244.0.0/16 overlaps the range of this node',
        'twin: its range 10.244.2.0/24 overlaps the range of node node-2',
      ],
    );
  });

  it('leaves out nodes whose address is not one of a machine', async () => {
    const kernel = new FakeKernel([cable('192.168.0.1')]);
    const addresses = ['127.0.0.1', '0.0.0.0', '224.0.0.1', '169.254.0.9', '255.255.255.255', '10.244.3.1'];
    for (const backend of ['vxlan', 'host-gw'] as const) {
      const peers = addresses.map((publicIp, at) => {
        const each = peer(at + 2, { backend });
        return { ...each, ipv4: { range: '', mac: undefined, ...each.ipv4, publicIp } };
      });
      const given = { settings: { ...settings, backend }, peers, actual: await kernel.read() };
      const { refused } = planOverlay('ipv4', own, given);
      assert.deepEqual(
        refused.map(({ why }) => why),
        addresses.map((each) => `${each} is not the address of a machine`),
      );
    }
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
        // Another program removes and adds entries.
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

describe('existing state', () => {
  const ours: VxlanSettings = { vni: 1, port: 8472, local: '192.168.0.1', via: 'eth0', learning: false };
  const device = (more: Partial<KernelLink> = {}): KernelLink => ({
    name: 'flannel.1',
    mac: '02:00:00:00:00:01',
    mtu: 1450,
    isUp: true,
    addresses: ['10.244.1.0/32'],
    vxlan: ours,
    ...more,
  });
  const state = (more: Partial<KernelState> = {}): KernelState => ({
    links: [device()],
    routes: [],
    neighbours: [],
    forwarding: [],
    ...more,
  });
  const stepsFor = (actual: KernelState, ...peers: Peer[]): string[] =>
    planOverlay('ipv4', own, { settings, peers, actual }).steps.map((step) => {
      const { kind, ...rest } = step;
      return `${kind} ${Object.values(rest)
        .filter((value) => typeof value !== 'object' && typeof value !== 'boolean')
        .join(' ')}`;
    });

  it('stays where it is as it should be', () => {
    assert.deepEqual(
      stepsFor(
        state({
          routes: [{ range: '10.244.2.0/24', gateway: '10.244.2.0', device: 'flannel.1', protocol: '84' }],
          neighbours: [{ ip: '10.244.2.0', mac: '02:00:00:00:00:02', device: 'flannel.1' }],
          forwarding: [{ mac: '02:00:00:00:00:02', remote: '192.168.0.2', device: 'flannel.1' }],
        }),
        peer(2),
      ),
      [],
    );
  });

  it('gets the address, the size and the state of the device back', () => {
    assert.deepEqual(stepsFor(state({ links: [device({ addresses: ['10.244.7.0/32', '10.244.1.0/32'] })] })), [
      'deleteAddress flannel.1 10.244.7.0/32',
    ]);
    assert.deepEqual(stepsFor(state({ links: [device({ addresses: [] })] })), ['addAddress flannel.1 10.244.1.0/32']);
    for (const wrong of [{ isUp: false }, { mtu: 1500 }])
      assert.deepEqual(stepsFor(state({ links: [device(wrong)] })), ['setLink flannel.1 1450']);
  });

  it('is made again where any setting of the device differs, with all that was on it', () => {
    const entries = {
      routes: [{ range: '10.244.2.0/24', gateway: '10.244.2.0', device: 'flannel.1', protocol: '84' }],
      neighbours: [{ ip: '10.244.9.0', mac: '02:00:00:00:00:09', device: 'flannel.1' }],
      forwarding: [{ mac: '02:00:00:00:00:09', remote: '192.168.0.9', device: 'flannel.1' }],
    };
    const others: Partial<VxlanSettings>[] = [
      { vni: 2 },
      { port: 4789 },
      { local: '192.168.0.77' },
      { via: 'eth1' },
      { learning: true },
    ];
    for (const other of others)
      assert.deepEqual(
        stepsFor(state({ ...entries, links: [device({ vxlan: { ...ours, ...other } })] }), peer(2)),
        [
          'deleteLink flannel.1',
          'createVxlan flannel.1 02:00:00:00:00:01 1450',
          'addAddress flannel.1 10.244.1.0/32',
          'setLink flannel.1 1450',
          'replaceForwarding 02:00:00:00:00:02 192.168.0.2 flannel.1',
          'replaceNeighbour 10.244.2.0 02:00:00:00:00:02 flannel.1',
          'replaceRoute 10.244.2.0/24 10.244.2.0 flannel.1',
        ],
        JSON.stringify(other),
      );
    const { vxlan: _, ...plain } = device();
    assert.equal(stepsFor(state({ links: [plain] }))[0], 'deleteLink flannel.1');
  });

  it('loses entries that no node needs, and keeps entries of other devices and of the kernel', () => {
    const elsewhere = {
      route: { range: '10.244.9.0/24', gateway: '10.244.9.0', device: 'eth1', protocol: '84' },
      neighbour: { ip: '10.244.9.0', mac: '02:00:00:00:00:09', device: 'eth1' },
      entry: { mac: '02:00:00:00:00:09', remote: '192.168.0.9', device: 'eth1' },
    };
    const { route, neighbour, entry } = elsewhere;
    assert.deepEqual(
      stepsFor(
        state({
          routes: [
            route,
            { ...route, device: 'flannel.1' },
            { range: '10.244.1.0/32', gateway: undefined, device: 'flannel.1', protocol: 'kernel' },
          ],
          neighbours: [neighbour, { ...neighbour, device: 'flannel.1' }],
          forwarding: [entry, { ...entry, device: 'flannel.1' }],
        }),
      ),
      [
        'deleteRoute 10.244.9.0/24 10.244.9.0 flannel.1 84',
        'deleteForwarding 02:00:00:00:00:09 192.168.0.9 flannel.1',
        'deleteNeighbour 10.244.9.0 02:00:00:00:00:09 flannel.1',
      ],
    );
  });

  it('is replaced where a node has another address or hardware address now', () => {
    assert.deepEqual(
      stepsFor(
        state({
          routes: [{ range: '10.244.2.0/24', gateway: '10.244.7.7', device: 'flannel.1', protocol: '84' }],
          neighbours: [{ ip: '10.244.2.0', mac: '02:00:00:00:00:77', device: 'flannel.1' }],
          forwarding: [{ mac: '02:00:00:00:00:02', remote: '192.168.0.77', device: 'flannel.1' }],
        }),
        peer(2),
      ),
      [
        'deleteForwarding 02:00:00:00:00:02 192.168.0.77 flannel.1',
        'replaceForwarding 02:00:00:00:00:02 192.168.0.2 flannel.1',
        'replaceNeighbour 10.244.2.0 02:00:00:00:00:02 flannel.1',
        'replaceRoute 10.244.2.0/24 10.244.2.0 flannel.1',
      ],
    );
  });
});

describe('the device of a node', () => {
  it('has a hardware address of its own, locally administered and the same each time', () => {
    const { knownMac: _, ...fresh } = own;
    const macOf = (nodeName: string): string | undefined =>
      planOverlay(
        'ipv4',
        { ...fresh, nodeName, knownMac: undefined },
        {
          settings,
          peers: [],
          actual: { links: [], routes: [], neighbours: [], forwarding: [] },
        },
      ).mac;
    assert.match(macOf('node-1') ?? '', /^02(:[0-9a-f]{2}){5}$/);
    assert.equal(macOf('node-1'), macOf('node-1'));
    assert.notEqual(macOf('node-1'), macOf('node-2'));
  });

  it('has a name, an address and a size for each family', () => {
    const ipv6: OwnSide = { ...own, network: 'fd00:1::/48', range: 'fd00:1:0:1::/64', publicIp: 'fd00::1' };
    const { steps } = planOverlay('ipv6', ipv6, {
      settings,
      peers: [
        {
          ...peer(2),
          ipv4: undefined,
          ipv6: { range: 'fd00:1:0:2::/64', publicIp: 'fd00::2', mac: '02:00:00:00:00:02' },
        },
        peer(3),
      ],
      actual: { links: [], routes: [], neighbours: [], forwarding: [] },
    });
    assert.deepEqual(
      steps.map((step) => commandOf(step).line),
      [
        'link add flannel-v6.1 address 02:00:00:00:00:01 mtu 1430 type vxlan id 1 dev eth0 local fd00::1 dstport 8472 nolearning',
        'address replace fd00:1:0:1::/128 dev flannel-v6.1 nodad',
        'link set flannel-v6.1 mtu 1430 up',
        'fdb replace 02:00:00:00:00:02 dev flannel-v6.1 dst fd00::2 self permanent',
        'neighbour replace fd00:1:0:2:: lladdr 02:00:00:00:00:02 dev flannel-v6.1 nud permanent',
        'route replace fd00:1:0:2::/64 via fd00:1:0:2:: dev flannel-v6.1 onlink proto 84',
      ],
    );
  });

  it('has a name that the kernel accepts, whatever the number of the network', async () => {
    for (const vni of [1, 9999, 10_000, 1_048_576, 2 ** 24 - 1])
      for (const [family, side] of [
        ['ipv4', own],
        ['ipv6', { ...own, network: 'fd00:1::/48', range: 'fd00:1:0:1::/64', publicIp: 'fd00::1' }],
      ] as const) {
        const kernel = new FakeKernel([cable(side.publicIp)]);
        const given = { settings: { ...settings, vni }, peers: [], actual: await kernel.read() };
        await kernel.apply(planOverlay(family, side, given).steps);
        assert.deepEqual(
          kernel.links.slice(1).map(({ name }) => name.length <= 15 && name.startsWith('flan')),
          [true],
        );
      }
    assert.notEqual(vxlanDevice('ipv4', 831_336), vxlanDevice('ipv6', 831_336));
  });

  it('excludes itself from its peers, and only VXLAN refuses a peer without a hardware address', () => {
    const bare: Peer = { ...peer(2), ipv4: { range: '10.244.2.0/24', publicIp: '192.168.0.2', mac: undefined } };
    const actual: KernelState = { links: [], routes: [], neighbours: [], forwarding: [] };
    const self: Peer = { ...peer(8), name: 'node-1' };
    const withVxlan = planOverlay('ipv4', own, { settings, peers: [self, bare], actual });
    assert.deepEqual(withVxlan.refused, [{ name: 'node-2', why: 'it names no hardware address' }]);
    const hostGw = { settings: { ...settings, backend: 'host-gw' as const }, actual };
    const withRoutes = planOverlay('ipv4', own, { ...hostGw, peers: [{ ...bare, backend: 'host-gw' }] });
    assert.deepEqual([withRoutes.refused, withRoutes.steps.length], [[], 1]);
    assert.equal(
      planOverlay('ipv4', { ...own, network: 'x' }, { settings, peers: [peer(2)], actual }).refused.length,
      1,
    );
  });
});
