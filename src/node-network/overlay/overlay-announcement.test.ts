import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodes } from '../../api/client/resource-types.ts';
import type { Node } from '../../api/core/node.ts';
import { cable } from './testing/fake-kernel.ts';
import { OverlayFixture, flannelKey, joined, ownNode } from './testing/overlay-fixture.ts';

describe('the announcement of the node', () => {
  it('writes its annotations once, together with the condition NetworkUnavailable', async () => {
    const fixture = await joined();
    assert.equal(fixture.patches, 1);
    fixture.changeOwn((node) => ({ ...node, metadata: { ...node.metadata, labels: { a: 'b' } } }));
    await fixture.clock.advance(100_000);
    assert.equal(fixture.patches, 1);
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
      fixture.changeOwn(conditions(status, reason));
      await fixture.clock.advance(100);
      assert.deepEqual(
        fixture.own.status?.conditions?.map((each) => [each.status, each.reason]),
        [['False', 'FlannelIsUp']],
      );
    }
    assert.equal(fixture.patches, 3);
    await fixture.stop();
  });

  it('patches only the annotations that changed', async () => {
    const fixture = await joined();
    fixture.changeOwn((node) => ({
      ...node,
      metadata: {
        ...node.metadata,
        annotations: { ...node.metadata.annotations, [flannelKey('public-ip')]: '1.2.3.4' },
      },
    }));
    await fixture.clock.advance(100);
    const body = fixture.api.calls.findLast(({ verb }) => verb === 'patch')?.body;
    assert.deepEqual(body, {
      metadata: { uid: fixture.own.metadata.uid, annotations: { [flannelKey('public-ip')]: '192.168.0.1' } },
    });
    await fixture.stop();
  });

  it('announces the address that the administrator sets, or the configured one of several', async () => {
    const overwritten = {
      metadata: { ...ownNode.metadata, annotations: { [flannelKey('public-ip-overwrite')]: '203.0.113.9' } },
    };
    const fixture = await joined({}, overwritten);
    assert.equal(fixture.annotation('public-ip'), '203.0.113.9');
    await fixture.stop();
    const configured = new OverlayFixture({ publicIps: { ipv4: '10.0.0.7' } });
    configured.kernel.links.push({ ...cable('10.0.0.7'), name: 'eth1', mtu: 1400 });
    configured.api.seed(nodes, ownNode);
    await configured.start();
    assert.equal(configured.annotation('public-ip'), '10.0.0.7');
    assert.match(configured.files.get('/run/subnet.env') ?? '', /^FLANNEL_MTU=1350$/m);
    await configured.stop();
  });

  it('announces no VXLAN data with host-gw', async () => {
    const fixture = await joined({ backend: 'host-gw' }, { spec: { podCIDR: '10.244.1.0/24' } });
    assert.deepEqual([fixture.annotation('backend-type'), fixture.annotation('backend-data')], ['host-gw', 'null']);
    assert.deepEqual(fixture.kernel.offloaded, []);
    assert.match(fixture.files.get('/run/subnet.env') ?? '', /^FLANNEL_SUBNET=10.244.1.1\/24$/m);
    await fixture.stop();
  });
});

describe('the overlay with both IP families', () => {
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

  it('has one device per family and uses the smaller MTU', async () => {
    const fixture = new OverlayFixture({ networks });
    fixture.kernel.links = [{ ...cable('192.168.0.1'), addresses: ['192.168.0.1/24', 'fd00::1/64'] }];
    fixture.api.seed(nodes, { ...ownNode, ...dual });
    await fixture.start();
    assert.deepEqual(fixture.kernel.offloaded, ['flannel.1', 'flannel-v6.1']);
    assert.deepEqual([fixture.annotation('public-ip'), fixture.annotation('public-ipv6')], ['192.168.0.1', 'fd00::1']);
    const file = fixture.files.get('/run/subnet.env') ?? '';
    assert.match(file, /^FLANNEL_IPV6_SUBNET=fd00:1::1\/64$/m);
    assert.match(file, /^FLANNEL_MTU=1430$/m);
    fixture.kernel.disturb(
      (kernel) => kernel.removeLink('flannel-v6.1'),
      'Deleted 5: flannel-v6.1: <BROADCAST> mtu 1430',
    );
    await fixture.clock.advance(100);
    assert.ok(fixture.kernel.links.some(({ name }) => name === 'flannel-v6.1'));
    await fixture.stop();
  });

  it('uses one family when the node has no pod range of the other', async () => {
    const fixture = await joined({ networks });
    assert.equal(fixture.isJoined, true);
    assert.deepEqual(fixture.complaints, ['no address of the family; the node takes no part in it']);
    assert.match(fixture.files.get('/run/subnet.env') ?? '', /^FLANNEL_MTU=1450$/m);
    await fixture.stop();
  });
});
