import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodes } from '../../api/client/resource-types.ts';
import { OverlayFixture, joined, ownNode } from './testing/overlay-fixture.ts';

describe('the packet filter rules of the overlay', () => {
  const rules = (fixture: OverlayFixture): string =>
    (fixture.filters.ipv4.rules('nat', 'KTO-POSTROUTING') ?? []).join('\n');

  it('are written once, and again when another program has removed them', async () => {
    const fixture = await joined();
    const all = fixture.filters.ipv4.chainNames('nat').filter((name) => name.startsWith('KTO'));
    assert.ok(all.length > 0, 'chains of the overlay');
    assert.equal(fixture.filters.ipv4.writes, 1);
    await fixture.clock.advance(200_000);
    assert.equal(fixture.filters.ipv4.writes, 1);
    fixture.filters.ipv4.flush('nat');
    await fixture.clock.advance(100_000);
    assert.equal(fixture.filters.ipv4.writes, 2);
    assert.ok(
      all.some((name) => (fixture.filters.ipv4.rules('nat', name) ?? []).length > 0),
      rules(fixture),
    );
    await fixture.stop();
  });

  it('follow a change of the pod range at once', async () => {
    const fixture = await joined();
    fixture.changeOwn((node) => ({ ...node, spec: { podCIDRs: ['10.244.9.0/24'] } }));
    await fixture.clock.advance(100);
    assert.equal(fixture.filters.ipv4.writes, 2);
    const text = fixture.filters.ipv4
      .chainNames('nat')
      .flatMap((name) => fixture.filters.ipv4.rules('nat', name) ?? [])
      .join('\n');
    assert.match(text, /10\.244\.9\.0\/24/);
    assert.doesNotMatch(text, /10\.244\.1\.0\/24/);
    await fixture.stop();
  });

  it('are written again after the kernel refused them', async () => {
    const fixture = new OverlayFixture();
    fixture.filters.ipv4.failures = 1;
    fixture.api.seed(nodes, ownNode);
    await fixture.start();
    assert.equal(fixture.isJoined, false);
    await fixture.clock.advance(2000);
    assert.equal(fixture.isJoined, true);
    await fixture.stop();
  });
});

describe('the subnet file and the CNI configuration', () => {
  it('are written when they change, the CNI configuration last', async () => {
    const fixture = await joined();
    assert.deepEqual(fixture.written, ['/run/subnet.env', '/etc/cni.conflist']);
    await fixture.clock.advance(200_000);
    assert.equal(fixture.written.length, 2);
    fixture.changeOwn((node) => ({ ...node, spec: { podCIDRs: ['10.244.9.0/24'] } }));
    await fixture.clock.advance(100);
    assert.equal(fixture.written.length, 4);
    await fixture.stop();
  });

  it('are written again after another program removed or changed them', async () => {
    const fixture = await joined();
    const before = new Map(fixture.files);
    fixture.files.delete('/run/subnet.env');
    fixture.files.set('/etc/cni.conflist', '{');
    await fixture.clock.advance(60_000);
    assert.deepEqual(fixture.files, before);
    await fixture.stop();
  });

  it('are left alone where another program writes them', async () => {
    const fixture = await joined({ subnetFile: undefined, cni: undefined });
    assert.deepEqual([fixture.isJoined, fixture.written], [true, []]);
    await fixture.stop();
  });
});

describe('checksum offload', () => {
  it('is turned off once per device, and again when the device is recreated', async () => {
    const fixture = await joined();
    await fixture.clock.advance(200_000);
    assert.deepEqual(fixture.kernel.offloaded, ['flannel.1']);
    fixture.kernel.disturb((kernel) => kernel.removeLink('flannel.1'), 'Deleted 4: flannel.1: <BROADCAST> mtu 1450');
    await fixture.clock.advance(100);
    assert.deepEqual(fixture.kernel.offloaded, ['flannel.1', 'flannel.1']);
    await fixture.stop();
  });

  it('causes only a warning when it cannot be turned off', async () => {
    const fixture = new OverlayFixture();
    fixture.kernel.disableChecksumOffload = () => Promise.reject(new Error('no ethtool'));
    fixture.api.seed(nodes, ownNode);
    await fixture.start();
    assert.deepEqual([fixture.isJoined, fixture.complaints], [true, ['no ethtool']]);
    await fixture.stop();
  });
});
