import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AddressRules, NetworkFacts } from './node-addresses.ts';
import { computeAddresses, hostIpsOf, withAddressHint } from './node-addresses.ts';

const facts: NetworkFacts = {
  own: ['127.0.0.1', '::1', '10.0.0.1', '10.0.0.2', 'fd00::1', 'fe80::1'],
  named: [],
  defaults: { v4: '10.0.0.1', v6: 'fd00::1' },
};
const addressesOf = (rules: Partial<AddressRules>, more: Partial<NetworkFacts> = {}): string => {
  const decision = computeAddresses(
    { hostname: 'n1', nodeIps: [], externalCloudProvider: false, ...rules },
    { ...facts, ...more },
    [],
  );
  return decision.kind === 'set'
    ? decision.addresses.map(({ type, address }) => `${type}=${address}`).join(' ')
    : decision.kind === 'keep'
      ? 'keep'
      : decision.why;
};

describe("the node's addresses", () => {
  it('are those of the flag: one, or one of each family in that order', () => {
    assert.equal(addressesOf({ nodeIps: ['10.0.0.2'] }), 'InternalIP=10.0.0.2 Hostname=n1');
    assert.equal(
      addressesOf({ nodeIps: ['fd00::1', '10.0.0.1'] }),
      'InternalIP=fd00::1 InternalIP=10.0.0.1 Hostname=n1',
    );
  });

  it('are refused when they cannot belong to the machine', () => {
    assert.deepEqual(
      ['127.0.0.1', '224.0.0.1', 'fe80::1', '10.9.9.9'].map((ip) => addressesOf({ nodeIps: [ip] })),
      [
        "failed to validate nodeIP: nodeIP can't be loopback address",
        "failed to validate nodeIP: nodeIP can't be a multicast address",
        "failed to validate nodeIP: nodeIP can't be a link-local unicast address",
        'failed to validate nodeIP: node IP: "10.9.9.9" not found in the host\'s network interfaces',
      ],
    );
    assert.match(addressesOf({ nodeIps: ['10.0.0.1', 'fd99::1'] }), /^failed to validate secondaryNodeIP/);
  });

  it('else come from a name that is an address, the addresses of the name, or the default route', () => {
    assert.equal(addressesOf({ hostname: '10.0.0.7' }), 'InternalIP=10.0.0.7 Hostname=10.0.0.7');
    assert.equal(addressesOf({}, { named: ['127.0.1.1', 'fd00::1', '10.0.0.2'] }), 'InternalIP=10.0.0.2 Hostname=n1');
    assert.equal(addressesOf({}, { named: ['10.9.9.9'] }), 'InternalIP=10.0.0.1 Hostname=n1');
    assert.equal(addressesOf({}, { defaults: { v6: 'fd00::1' } }), 'InternalIP=fd00::1 Hostname=n1');
    assert.match(addressesOf({}, { defaults: {} }), /^can't get ip address of node n1/);
  });

  it('are of the family of an unspecified address', () => {
    assert.equal(addressesOf({ nodeIps: ['::'] }), 'InternalIP=fd00::1 Hostname=n1');
    assert.equal(addressesOf({ nodeIps: ['0.0.0.0'] }), 'InternalIP=10.0.0.1 Hostname=n1');
    assert.equal(
      addressesOf({ nodeIps: ['::'] }, { named: ['10.0.0.2', 'fd00::1'] }),
      'InternalIP=fd00::1 Hostname=n1',
    );
  });

  it('are left to the cloud controller where there is one', () => {
    const external = { hostname: 'n1', nodeIps: ['10.0.0.1'], externalCloudProvider: true };
    assert.deepEqual(computeAddresses(external, facts, [{ type: 'ExternalIP', address: '1.2.3.4' }]), { kind: 'keep' });
    assert.equal(addressesOf(external), 'InternalIP=10.0.0.1 Hostname=n1');
    assert.equal(addressesOf({ externalCloudProvider: true }), 'Hostname=n1');
    assert.equal(addressesOf({ externalCloudProvider: true, nodeIps: ['::'] }), 'InternalIP=fd00::1 Hostname=n1');
  });

  it('are for pods one of each family, internal ones first', () => {
    const address = (type: string, ip: string): { type: string; address: string } => ({ type, address: ip });
    assert.deepEqual(
      hostIpsOf([
        address('ExternalIP', 'fd00::9'),
        address('InternalIP', '10.0.0.1'),
        address('InternalIP', '10.0.0.2'),
        address('Hostname', 'n1'),
      ]),
      ['10.0.0.1', 'fd00::9'],
    );
    assert.deepEqual(
      [hostIpsOf([address('InternalIP', 'fd00::1')]), hostIpsOf([address('Hostname', 'n1')])],
      [['fd00::1'], []],
    );
  });

  it('are hinted to the cloud controller in an annotation, which is removed with the flag', () => {
    const rules = { hostname: 'n1', nodeIps: ['10.0.0.1', 'fd00::1'], externalCloudProvider: true };
    assert.deepEqual(withAddressHint({ a: 'b' }, rules), {
      a: 'b',
      'alpha.kubernetes.io/provided-node-ip': '10.0.0.1,fd00::1',
    });
    assert.deepEqual(
      withAddressHint(
        { a: 'b', 'alpha.kubernetes.io/provided-node-ip': '10.0.0.1' },
        { ...rules, externalCloudProvider: false },
      ),
      { a: 'b' },
    );
    assert.equal(withAddressHint(undefined, { ...rules, nodeIps: ['::'] }), undefined);
  });
});
