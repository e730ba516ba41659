import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseAddresses, parseForwarding, parseNeighbours, parseRoutes } from './parse-kernel.ts';

const json = (...entries: object[]): string => JSON.stringify(entries);

describe('the output of ip and bridge', () => {
  it('is an empty list where nothing is printed', () => {
    for (const parse of [parseAddresses, parseRoutes, parseNeighbours, parseForwarding])
      assert.deepEqual([parse(''), parse(' \n'), parse('[]')], [[], [], []]);
  });

  it('has devices with their addresses, but for those of the link', () => {
    assert.deepEqual(
      parseAddresses(
        json(
          {},
          {
            ifname: 'eth0',
            address: '02:00:00:00:00:01',
            mtu: 1500,
            flags: ['BROADCAST', 'UP'],
            addr_info: [
              { local: '10.0.0.1', prefixlen: 24, scope: 'global' },
              { local: 'fe80::1', prefixlen: 64, scope: 'link' },
              { local: 'fd00::1', prefixlen: 64, scope: 'global' },
              { scope: 'global' },
            ],
          },
          { ifname: 'lo', flags: ['LOOPBACK'], linkinfo: { info_kind: 'dummy', info_data: { id: 1 } } },
        ),
      ),
      [
        {
          name: 'eth0',
          mac: '02:00:00:00:00:01',
          mtu: 1500,
          isUp: true,
          addresses: ['10.0.0.1/24', 'fd00::1/64'],
        },
        { name: 'lo', mac: '', mtu: 0, isUp: false, addresses: [] },
      ],
    );
  });

  it('has what a VXLAN device is, with the defaults of what is not printed', () => {
    const vxlans = (...data: object[]) =>
      parseAddresses(
        json(...data.map((info_data) => ({ ifname: 'v', linkinfo: { info_kind: 'vxlan', info_data } }))),
      ).map(({ vxlan }) => vxlan);
    assert.deepEqual(
      vxlans(
        { id: 7, port: 8472, local: '10.0.0.1', link: 'eth0', learning: false },
        { id: 8, port: 4789, local6: 'fd00::1' },
        {},
      ),
      [
        { vni: 7, port: 8472, local: '10.0.0.1', via: 'eth0', learning: false },
        { vni: 8, port: 4789, local: 'fd00::1', via: '', learning: true },
        { vni: 0, port: 0, local: '', via: '', learning: true },
      ],
    );
    assert.deepEqual(parseAddresses(json({ ifname: 'v', linkinfo: { info_kind: 'vxlan' } }))[0]?.vxlan, undefined);
  });

  it('has routes as ranges, also to single addresses, and not the default one', () => {
    assert.deepEqual(
      parseRoutes(
        json(
          { dst: 'default', gateway: '10.0.0.254', dev: 'eth0' },
          { dst: '10.1.0.0/24', gateway: '10.1.0.0', dev: 'v', protocol: 'static' },
          { dst: '10.2.0.1', dev: 'v' },
          { dst: 'fd00::5', dev: 'v', protocol: 'kernel' },
          { dst: '10.3.0.0/24' },
          { dev: 'v' },
        ),
      ),
      [
        { range: '10.1.0.0/24', gateway: '10.1.0.0', device: 'v', protocol: 'static' },
        { range: '10.2.0.1/32', gateway: undefined, device: 'v', protocol: '' },
        { range: 'fd00::5/128', gateway: undefined, device: 'v', protocol: 'kernel' },
      ],
    );
  });

  it('has neighbours whose hardware address is known, and forwarding entries that name another machine', () => {
    const whole = { dst: '10.1.0.0', dev: 'v', lladdr: '02:00:00:00:00:02' };
    const without = (key: string): object => Object.fromEntries(Object.entries(whole).filter(([name]) => name !== key));
    assert.deepEqual(parseNeighbours(json(whole, without('dst'), without('dev'), without('lladdr'))), [
      { ip: '10.1.0.0', mac: '02:00:00:00:00:02', device: 'v' },
    ]);
    const entry = { mac: '02:00:00:00:00:02', ifname: 'v', dst: '192.168.0.2' };
    assert.deepEqual(
      parseForwarding(
        json(entry, { ...entry, mac: undefined }, { ...entry, ifname: undefined }, { ...entry, dst: undefined }),
      ),
      [{ mac: '02:00:00:00:00:02', remote: '192.168.0.2', device: 'v' }],
    );
  });
});
