import assert from 'node:assert/strict';
import { it } from 'node:test';
import { parseNodeNetwork } from './node-network-flags.ts';

const both = ['--kubeconfig=k', '--node-name=n'];
const routing = ['--pod-cidr=10.84.0.0/22', '--service-cidr=10.96.0.0/16'];

it('names, routes and policies are asked for by their own flags', () => {
  const dns = {
    ...{ listen: [{ address: '10.84.0.1', port: 10053 }], local: undefined, domain: 'cluster.local' },
    ...{ resolvConf: '/etc/resolv.conf', upstream: [], stubDomains: new Map(), cacheSeconds: 30 },
  };
  const rules = {
    chainPrefix: 'KTS',
    podCidr: '10.84.0.0/22',
    serviceCidr: '10.96.0.0/16',
    admitted: [{ ip: '10.84.0.1', protocol: 'tcp', port: 6443 }],
    kept: [{ ip: '10.84.0.1', protocol: 'tcp', port: 10_250 }],
    loadBalancerAddress: '10.84.0.1',
    loopbackNodePorts: true,
    zone: 'z1',
    backend: 'iptables',
    second: undefined,
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
        ...{ publicIps: { ipv4: '192.168.0.1' }, serviceCidr: undefined, chainPrefix: 'KTO', subnetFile: undefined },
        cni: { file: '/etc/cni.conflist', bridge: 'cni0', networkName: 'cbr0', dataDir: undefined },
      },
    },
  });
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
  [[...both, '--pod-cidr=10.84.0.0/22,fd00::/64', '--service-cidr=10.96.0.0/16,fd00:96::/112'], /nftables/],
  [[...both, '--service-backend=nftables', '--pod-cidr=10.84.0.0/22,fd00::/64', '--service-cidr=10.96.0.0/16'], /IPv6/],
  [['--nonsense'], /nonsense/],
];
for (const [args, says] of wrong) {
  it(`${args.at(-1)} is refused`, () => {
    const parsed = parseNodeNetwork(args);
    assert.ok(parsed.kind === 'error' && says.test(parsed.errors.join()), JSON.stringify(parsed));
  });
}
