import assert from 'node:assert/strict';
import type os from 'node:os';
import { describe, it } from 'node:test';
import { computeNetwork } from './linux-network.ts';

const of = (address: string, internal = false): os.NetworkInterfaceInfo =>
  ({
    address,
    internal,
    family: address.includes(':') ? 'IPv6' : 'IPv4',
    netmask: '',
    mac: '',
    cidr: null,
    ...(address.includes(':') && { scopeid: 0 }),
  }) as os.NetworkInterfaceInfo;
const interfaces = {
  lo: [of('127.0.0.1', true), of('::1', true)],
  cni0: [of('10.88.0.1')],
  eth0: [of('192.0.2.1'), of('fe80::1'), of('2001:db8::1')],
  eth1: [of('192.0.2.9'), of('2001:db8::9')],
};
const HEAD = 'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n';
const route = (name: string, destination = '00000000'): string =>
  `${name}\t${destination}\tFE0200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n`;
const v6Route = (name: string, gateway: string): string =>
  `${'0'.repeat(32)} 00 ${'0'.repeat(32)} 00 ${gateway} 00000400 00000001 00000000 00000003     ${name}\n`;

describe("the machine's address", () => {
  it('is on the interface that the default route leads over', () => {
    const routes = HEAD + route('eth0', '0002000A') + route('eth1');
    const v6Routes = v6Route('lo', '0'.repeat(32)) + v6Route('eth0', `fe80${'0'.repeat(27)}2`);
    assert.deepEqual(computeNetwork({ routes, v6Routes, v4Trie: '', interfaces }).defaults, {
      v4: '192.0.2.9',
      v6: '2001:db8::1',
    });
  });

  it('is one of an external interface if there is no route', () => {
    assert.deepEqual(computeNetwork({ routes: '', v6Routes: '', v4Trie: '', interfaces }).defaults, {
      v4: '192.0.2.1',
      v6: '2001:db8::1',
    });
    assert.deepEqual(computeNetwork({ routes: '', v6Routes: '', v4Trie: '', interfaces: {} }), {
      own: [],
      defaults: {},
    });
  });

  it('may be one of an interface without a carrier, such as a bridge without pods', () => {
    const v4Trie =
      'Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- 10.85.0.0\n        /22 link UNICAST\n     |-- 10.85.0.1\n        /32 host LOCAL\n     |-- 10.85.3.255\n        /32 link BROADCAST\n     |-- 192.0.2.1\n        /32 host LOCAL\n';
    assert.deepEqual(
      computeNetwork({ routes: '', v6Routes: '', v4Trie, interfaces: { eth0: [of('192.0.2.1')] } }).own,
      ['192.0.2.1', '10.85.0.1'],
    );
  });

  it('is among all its addresses', () => {
    assert.equal(computeNetwork({ routes: '', v6Routes: '', v4Trie: '', interfaces }).own.length, 8);
  });
});
