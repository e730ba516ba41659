import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parseNodeNetwork } from './node-network-flags.ts';

const both = ['--kubeconfig=k', '--node-name=n'];
const routing = ['--pod-cidr=10.84.0.0/22', '--service-cidr=10.96.0.0/16'];

it('DNS, service routing and network policies each have their own flag', () => {
  const dns = {
    ...{ listen: [{ address: '10.84.0.1', port: 10053 }], local: undefined, domain: 'cluster.local' },
    ...{ resolvConf: '/etc/resolv.conf', upstream: [], stubDomains: new Map(), cacheSeconds: 30 },
  };
  const rules = {
    chainPrefix: 'KTS',
    ranges: [{ family: 'IPv4', podCidr: '10.84.0.0/22', serviceCidr: '10.96.0.0/16' }],
    admitted: [{ ip: '10.84.0.1', protocol: 'tcp', port: 6443 }],
    kept: [{ ip: '10.84.0.1', protocol: 'tcp', port: 10_250 }],
    loadBalancerAddresses: ['10.84.0.1'],
    loopbackNodePorts: true,
    zone: 'z1',
    backend: 'iptables',
  };
  const balancer = [
    '--keep=10.84.0.1:10250/tcp',
    '--load-balancer-address=10.84.0.1',
    '--loopback-node-ports',
    '--node-zone=z1',
  ];
  const line = { kubeconfig: 'k', nodeName: 'n', policyTable: 'KTS-policy' };
  assert.deepEqual(parseNodeNetwork([...both, '--dns-listen=10.84.0.1:10053']), {
    kind: 'run',
    options: { ...line, dns, overlay: undefined, routing: undefined, policy: undefined },
  });
  assert.deepEqual(parseNodeNetwork([...both, ...routing, '--admit=10.84.0.1:6443/tcp', ...balancer]), {
    kind: 'run',
    options: { ...line, dns: undefined, overlay: undefined, routing: rules, policy: undefined },
  });
  assert.deepEqual(parseNodeNetwork([...both, '--network-policy', '--pod-bridge=kts0', '--chain-prefix=K']), {
    kind: 'run',
    options: {
      ...line,
      dns: undefined,
      routing: undefined,
      overlay: undefined,
      policyTable: 'K-policy',
      policy: { podBridge: 'kts0' },
    },
  });
  const overlay = ['--overlay=vxlan', '--cluster-cidr=10.244.0.0/16', '--public-ip=192.168.0.1'];
  assert.deepEqual(parseNodeNetwork([...both, ...overlay, '--subnet-file=', '--cni-config=/etc/cni.conflist']), {
    kind: 'run',
    options: {
      ...line,
      dns: undefined,
      routing: undefined,
      policy: undefined,
      overlay: {
        ...{ nodeName: 'n', backend: 'vxlan', vni: 1, port: 8472, networks: { ipv4: '10.244.0.0/16' } },
        ...{ publicIps: { ipv4: '192.168.0.1' }, serviceCidrs: {}, chainPrefix: 'KTO', subnetFile: undefined },
        cni: { file: '/etc/cni.conflist', bridge: 'cni0', networkName: 'cbr0', dataDir: undefined },
      },
    },
  });
});

it('two families have ranges, addresses and name servers of their own', () => {
  const parsed = parseNodeNetwork([
    ...both,
    ...[
      '--pod-cidr=10.84.0.0/22,fd84::/64',
      '--service-cidr=10.96.0.0/16,fd84:0:0:1::/112',
      '--admit=[FD84::1]:6443/tcp',
    ],
    ...['--load-balancer-address=10.84.0.1,fd84::1', '--dns-listen=10.84.0.1:53', '--dns-listen=[fd84::1]:53'],
    ...['--overlay=vxlan', '--cluster-cidr=10.84.0.0/22,fd84::/64', '--dns-local-address=fd84::53'],
  ]);
  assert.ok(parsed.kind === 'run', JSON.stringify(parsed));
  const { routing: rules, dns, overlay } = parsed.options;
  assert.deepEqual(rules?.ranges, [
    { family: 'IPv4', podCidr: '10.84.0.0/22', serviceCidr: '10.96.0.0/16' },
    { family: 'IPv6', podCidr: 'fd84::/64', serviceCidr: 'fd84:0:0:1::/112' },
  ]);
  assert.deepEqual(rules?.admitted, [{ ip: 'fd84::1', protocol: 'tcp', port: 6443 }]);
  assert.deepEqual(rules?.loadBalancerAddresses, ['10.84.0.1', 'fd84::1']);
  assert.deepEqual(overlay?.serviceCidrs, { ipv4: '10.96.0.0/16', ipv6: 'fd84:0:0:1::/112' });
  assert.deepEqual(
    [dns?.listen.map(({ address }) => address), dns?.local?.addresses],
    [['10.84.0.1', 'fd84::1'], ['fd84::53']],
  );
});

const wrong: readonly [args: readonly string[], says: RegExp][] = [
  [[...both], /nothing to do/],
  [[...both, '--overlay=udp', '--cluster-cidr=10.244.0.0/16'], /--overlay/],
  [[...both, '--overlay=vxlan'], /--cluster-cidr/],
  [[...both, '--overlay=vxlan', '--cluster-cidr=10.244'], /--cluster-cidr/],
  [[...both, '--overlay=vxlan', '--cluster-cidr=10.244.0.0/16', '--public-ip=me'], /--public-ip/],
  [[...both, '--overlay=vxlan', '--cluster-cidr=10.244.0.0/16', '--overlay-vni=0'], /--overlay-vni/],
  [[...both, '--overlay=vxlan', '--cluster-cidr=10.244.0.0/16', '--cni-bridge=a b'], /--cni-bridge/],
  [['--node-name=n', ...routing], /--kubeconfig/],
  [[...both, '--pod-cidr=10.84.0.0/22'], /must be set together/],
  [[...both, '--pod-cidr=10.84.0.0/22', '--service-cidr=10.96.0.0/33'], /--service-cidr/],
  [[...both, ...routing, '--chain-prefix=a b'], /--chain-prefix/],
  [[...both, '--dns-listen=10.84.0.1'], /--dns-listen/],
  [[...both, '--dns-listen=10.84.0.300:53'], /--dns-listen/],
  [[...both, ...routing, '--admit=10.84.0.1:6443'], /--admit/],
  [[...both, ...routing, '--keep=10.84.0.1:6443/x'], /--keep/],
  [[...both, ...routing, '--load-balancer-address=fd00::1'], /--load-balancer-address/],
  [[...both, '--network-policy', '--pod-bridge=a"b'], /--pod-bridge/],
  [[...both, ...routing, '--service-backend=ipvs'], /--service-backend/],
  [[...both, ...routing, '--load-balancer-address=10.84.0.1,10.84.0.2'], /two addresses of IPv4/],
  [[...both, '--pod-cidr=10.84.0.0/22,fd00::/64', '--service-cidr=10.96.0.0/16'], /not an IPv6 range/],
  [[...both, '--pod-cidr=10.84.0.0/22', '--service-cidr=fd00:96::/112'], /not an IPv4 range/],
  [[...both, '--pod-cidr=10.84.0.0/22', '--service-cidr=10.96.0.0/16,fd00:96::/112'], /more ranges/],
  [[...both, '--pod-cidr=fd00::/64,fd01::/64', '--service-cidr=fd00:96::/112,fd00:97::/112'], /two ranges of IPv6/],
  [['--nonsense'], /nonsense/],
];
for (const [args, says] of wrong) {
  it(`${args.at(-1)} is refused`, () => {
    const parsed = parseNodeNetwork(args);
    assert.ok(parsed.kind === 'error' && says.test(parsed.errors.join()), JSON.stringify(parsed));
  });
}
