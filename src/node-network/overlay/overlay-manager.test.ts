import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodes } from '../../api/client/resource-types.ts';
import type { Node } from '../../api/core/node.ts';
import { cable } from './testing/fake-kernel.ts';
import { OverlayFixture, flannelKey, joined, ownNode } from './testing/overlay-fixture.ts';

describe('the network between nodes', () => {
  it('waits for a range, then announces the node and writes its files', async () => {
    const fixture = new OverlayFixture();
    fixture.api.seed(nodes, {
      metadata: { name: 'one', namespace: '', uid: '' },
      status: { addresses: [{ type: 'InternalIP', address: '192.168.0.1' }] },
    });
    await fixture.start();
    assert.deepEqual([fixture.kernel.steps, fixture.files.size], [[], 0]);
    fixture.api.change(nodes, { namespace: '', name: 'one' }, (node) => ({
      ...node,
      spec: { podCIDRs: ['10.244.1.0/24'] },
    }));
    await fixture.clock.advance(200);
    await fixture.overlay.whenJoined();
    assert.equal(fixture.own.metadata.annotations?.[flannelKey('public-ip')], '192.168.0.1');
    assert.match(fixture.own.metadata.annotations?.[flannelKey('backend-data')] ?? '', /"VtepMAC":"02:/);
    assert.deepEqual(
      fixture.own.status?.conditions?.map(({ type, status, reason }) => `${type}=${status} ${reason}`),
      ['NetworkUnavailable=False FlannelIsUp'],
    );
    assert.deepEqual([...fixture.files.keys()], ['/run/subnet.env', '/etc/cni.conflist']);
    assert.deepEqual(fixture.kernel.offloaded, ['flannel.1']);
    await fixture.stop();
  });

  it('writes packet filter rules per IP family, each with the Service range of its family', async () => {
    const fixture = new OverlayFixture({
      networks: { ipv4: '10.244.0.0/16', ipv6: 'fd84::/56' },
      serviceCidrs: { ipv4: '10.96.0.0/16', ipv6: 'fd84:0:0:ff::/112' },
      publicIps: { ipv4: '192.168.0.1', ipv6: 'fd84:1::1' },
    });
    fixture.kernel.links = [...fixture.kernel.links, { ...cable('fd84:1::1'), name: 'eth1' }];
    fixture.api.seed(nodes, {
      metadata: { name: 'one', namespace: '', uid: '' },
      spec: { podCIDRs: ['10.244.1.0/24', 'fd84:0:0:1::/64'] },
    });
    await fixture.start();
    await fixture.overlay.whenJoined();
    const { ipv4, ipv6 } = fixture.filters;
    assert.match(await ipv4.read(), /-d 10\.96\.0\.0\/16 -j RETURN/);
    assert.doesNotMatch(await ipv4.read(), /fd84/);
    assert.match(await ipv6.read(), /-s fd84::\/56 ! -d ff00::\/8 -j MASQUERADE/);
    assert.match(await ipv6.read(), /-d fd84:0:0:ff::\/112 -j RETURN/);
    const { annotations = {} } = fixture.own.metadata;
    assert.deepEqual(
      [annotations[flannelKey('public-ip')], annotations[flannelKey('public-ipv6')]],
      ['192.168.0.1', 'fd84:1::1'],
    );
    assert.match(annotations[flannelKey('backend-v6-data')] ?? '', /VtepMAC/);
    assert.match(fixture.files.get('/etc/cni.conflist') ?? '', /fd84:0:0:1::\/64/);
    await fixture.stop();
  });

  it('follows nodes that are added, deleted, and replaced under the same name', async () => {
    const fixture = await joined();
    fixture.addPeer('two', 2);
    await fixture.clock.advance(100);
    assert.deepEqual(fixture.remotes, ['02 192.168.0.2']);
    await fixture.api.delete(nodes, { namespace: '', name: 'two' });
    fixture.addPeer('two', 3);
    await fixture.clock.advance(100);
    assert.deepEqual(fixture.remotes, ['03 192.168.0.3']);
    assert.deepEqual(
      fixture.kernel.routes.map(({ range }) => range),
      ['10.244.3.0/24'],
    );
    await fixture.api.delete(nodes, { namespace: '', name: 'two' });
    await fixture.clock.advance(100);
    assert.deepEqual([fixture.remotes, fixture.kernel.routes, fixture.kernel.neighbours], [[], [], []]);
    await fixture.stop();
  });

  it('restores devices, routes and annotations that another program removed', async () => {
    const fixture = await joined();
    fixture.addPeer('two', 2);
    await fixture.clock.advance(100);
    const mac = fixture.kernel.links.at(-1)?.mac;
    fixture.kernel.disturb((kernel) => kernel.removeLink('flannel.1'), 'Deleted 4: flannel.1: <BROADCAST> mtu 1450');
    await fixture.clock.advance(100);
    assert.deepEqual([fixture.remotes, fixture.kernel.links.at(-1)?.mac], [['02 192.168.0.2'], mac]);
    fixture.kernel.disturb(
      (kernel) => (kernel.routes = []),
      'Deleted 10.244.2.0/24 via 10.244.2.0 dev flannel.1 proto 84 onlink',
    );
    await fixture.clock.advance(100);
    assert.equal(fixture.kernel.routes.length, 1);
    const before = fixture.kernel.steps.length;
    fixture.kernel.disturb(() => undefined, '3: eth0: <BROADCAST> mtu 1500');
    await fixture.clock.advance(100);
    fixture.api.change(nodes, { namespace: '', name: 'one' }, ({ metadata, ...rest }) => ({
      ...rest,
      metadata: { ...metadata, annotations: {} },
    }));
    await fixture.clock.advance(100);
    assert.equal(fixture.own.metadata.annotations?.[flannelKey('backend-type')], 'vxlan');
    assert.equal(fixture.kernel.steps.length, before);
    await fixture.stop();
  });
});

describe('a node that cannot take part', () => {
  it('logs the reason once and changes nothing', async () => {
    const fixture = await joined({}, { spec: {} });
    await fixture.clock.advance(200_000);
    assert.deepEqual(fixture.complaints, ['waiting for a range of pod addresses: spec.podCIDR of the node is empty']);
    assert.deepEqual([fixture.isJoined, fixture.kernel.steps, fixture.files.size, fixture.patches], [false, [], 0, 0]);
    await fixture.stop();
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
      const fixture = await joined({}, node);
      await fixture.clock.advance(200_000);
      assert.deepEqual(fixture.complaints, [complaint]);
      assert.deepEqual([fixture.isJoined, fixture.files.size, fixture.patches], [false, 0, 0], JSON.stringify(node));
      await fixture.stop();
    }
  });

  it('tries to join again each second, and when a device gets an address', async () => {
    const fixture = new OverlayFixture();
    fixture.kernel.links = [];
    fixture.api.seed(nodes, ownNode);
    await fixture.start();
    const failure = 'unable to set up the network between nodes';
    assert.deepEqual(fixture.log.lines.at(-1), {
      level: 'error',
      message: failure,
      fields: { error: 'no network device has the address 192.168.0.1', retryMs: 1000 },
    });
    const [before] = [fixture.log.lines.length];
    await fixture.clock.advance(5000);
    assert.ok(fixture.log.lines.length >= before + 3, 'it is tried again');
    fixture.kernel.disturb(
      (kernel) => (kernel.links = [cable('192.168.0.1')]),
      '2: eth0    inet 192.168.0.1/24 scope global',
    );
    await fixture.clock.advance(100);
    assert.equal(fixture.isJoined, true);
    const { length } = fixture.log.lines;
    await fixture.clock.advance(100_000);
    assert.equal(fixture.log.lines.length, length);
    await fixture.stop();
  });
});

describe('an entry that the kernel refuses', () => {
  it('does not keep the node away, and is tried again', async () => {
    const fixture = new OverlayFixture();
    fixture.kernel.refused = '10.244.9.0';
    fixture.api.seed(nodes, ownNode);
    fixture.addPeer('nine', 9);
    await fixture.start();
    await fixture.clock.advance(2000);
    assert.equal(fixture.isJoined, true);
    assert.equal(fixture.annotation('public-ip'), '192.168.0.1');
    assert.ok(fixture.files.has('/etc/cni.conflist'));
    await fixture.clock.advance(10_000);
    assert.equal(fixture.complaints.length, 2, fixture.complaints.join('\n'));
    fixture.kernel.refused = undefined;
    await fixture.clock.advance(60_000);
    assert.ok(fixture.kernel.routes.some(({ range }) => range === '10.244.9.0/24'));
    await fixture.stop();
  });
});

describe('a machine that only observes', () => {
  it('gets routes to the nodes without announcing itself', async () => {
    const fixture = new OverlayFixture({
      backend: 'observe',
      nodeName: 'elsewhere',
      publicIps: { ipv4: '192.168.0.1' },
    });
    fixture.addPeer('two', 2);
    await fixture.start();
    assert.deepEqual(
      fixture.kernel.routes.map(({ range, gateway, device }) => [range, gateway, device]),
      [['10.244.2.0/24', '192.168.0.2', 'eth0']],
    );
    assert.deepEqual(
      [fixture.isJoined, fixture.written, fixture.patches, fixture.filters.ipv4.writes],
      [true, [], 0, 0],
    );
    assert.deepEqual(fixture.kernel.offloaded, []);
    await fixture.stop();
  });
});

describe('other nodes', () => {
  it('cause no work by their heartbeats', async () => {
    const fixture = await joined();
    fixture.addPeer('two', 2);
    await fixture.clock.advance(100);
    let reads = 0;
    const { read } = fixture.kernel;
    fixture.kernel.read = () => {
      reads += 1;
      return read.call(fixture.kernel);
    };
    fixture.api.change(nodes, { namespace: '', name: 'two' }, (node) => ({
      ...node,
      status: { phase: 'Running' as const },
    }));
    await fixture.clock.advance(1000);
    assert.equal(reads, 0);
    fixture.api.change(nodes, { namespace: '', name: 'two' }, (node) => ({
      ...node,
      spec: { podCIDRs: ['10.244.7.0/24'] },
    }));
    await fixture.clock.advance(100);
    assert.equal(reads, 1);
    await fixture.stop();
  });

  it('are skipped with one warning when their pod range is taken', async () => {
    const fixture = await joined();
    fixture.addPeer('two', 2);
    fixture.addPeer('three', 3);
    fixture.api.change(nodes, { namespace: '', name: 'three' }, (node) => ({
      ...node,
      spec: { podCIDRs: ['10.244.2.0/24'] },
    }));
    await fixture.clock.advance(200_000);
    assert.deepEqual(
      fixture.log.lines.filter(({ level }) => level === 'warn').map(({ fields }) => fields['about']),
      ['two'],
    );
    await fixture.stop();
  });

  it('are not followed after stop, but the kernel keeps the routes', async () => {
    const fixture = await joined();
    fixture.addPeer('two', 2);
    await fixture.clock.advance(100);
    fixture.addPeer('three', 3);
    await fixture.stop();
    const { routes } = fixture.kernel;
    fixture.kernel.disturb(() => undefined, 'Deleted 4: flannel.1: <BROADCAST> mtu 1450');
    await fixture.clock.advance(200_000);
    assert.deepEqual(fixture.kernel.routes, routes);
    assert.equal(routes.length, 1);
  });
});
