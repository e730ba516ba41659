import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RulesByTable } from './host-tables.ts';
import {
  chainNames,
  hasInstanceChain,
  isKubelet,
  isShimOf,
  parseParentPid,
  parseStartTicks,
  selectIptablesCleanUp,
  selectKubeletChainCleanUp,
  selectMountsBelow,
  sharedChains,
} from './host-tables.ts';

test('mounts below a folder are listed deepest first; folders with the same prefix are not included; escapes are decoded', () => {
  const table = [
    '1 0 8:1 / / rw - ext4 /dev/a rw',
    '2 1 0:5 / /data/x rw - tmpfs t rw',
    '3 2 0:6 / /data/x/deep\\040er rw - tmpfs t rw',
    '4 1 0:7 / /data/xy rw - tmpfs t rw',
    '5 2 0:8 / /data/x/other rw - tmpfs t rw',
  ].join('\n');
  assert.deepEqual(selectMountsBelow(table, '/data/x'), ['/data/x/other', '/data/x/deep er', '/data/x']);
});

test('a process name with blanks and parentheses does not shift the fields of its stat line', () => {
  const stat = `42 (a) b (c) S 7 ${Array.from({ length: 17 }, (_, index) => index).join(' ')} 987654 1`;
  assert.equal(parseParentPid(stat), 7);
  assert.equal(parseStartTicks(stat), '987654');
});

test('only a shim of our own containerd is ours', () => {
  const shim = (address: string) =>
    ['/usr/bin/containerd-shim-runc-v2', '-namespace', 'k8s.io', '-id', 'x', '-address', address].join('\u0000');
  assert.equal(isShimOf(shim('/d/c.sock'), '/d/c.sock'), true);
  assert.equal(isShimOf(shim('/run/containerd/containerd.sock'), '/d/c.sock'), false);
  assert.equal(isShimOf(['vi', 'containerd-shim', '-address', '/d/c.sock'].join('\u0000'), '/d/c.sock'), false);
});

const NAT = `-P PREROUTING ACCEPT
-N CNI-DN-aaaaaaaaaaaaaaaaaaaaa
-N CNI-DN-bbbbbbbbbbbbbbbbbbbbb
-N CNI-HOSTPORT-DNAT
-N CNI-HOSTPORT-MASQ
-N DOCKER
-N KTS-1
-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
-A POSTROUTING -s 10.84.0.0/22 -j KTS-1
-A CNI-DN-aaaaaaaaaaaaaaaaaaaaa -p tcp -j DNAT --to-destination 10.84.0.2:80
-A CNI-DN-bbbbbbbbbbbbbbbbbbbbb -p tcp -j DNAT --to-destination 10.99.0.2:80
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \\"kubelet-ts-1\\" id: \\"c1\\"" -m multiport --dports 8080 -j CNI-DN-aaaaaaaaaaaaaaaaaaaaa
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \\"other\\" id: \\"c2\\"" -m multiport --dports 81 -j CNI-DN-bbbbbbbbbbbbbbbbbbbbb
-A KTS-1 ! -d 10.84.0.0/22 -j MASQUERADE
`;
const own = { chain: 'KTS-1', networkName: 'kubelet-ts-1', chainsBefore: [] };

test("clean-up removes our chain and the plugins' rules for our network, and keeps those of other users of the shared chain and of other engines", () => {
  assert.deepEqual(selectIptablesCleanUp(NAT, own).commands, [
    ['-D', 'POSTROUTING', '-s', '10.84.0.0/22', '-j', 'KTS-1'],
    [
      '-D',
      'CNI-HOSTPORT-DNAT',
      '-p',
      'tcp',
      '-m',
      'comment',
      '--comment',
      'dnat name: "kubelet-ts-1" id: "c1"',
      '-m',
      'multiport',
      '--dports',
      '8080',
      '-j',
      'CNI-DN-aaaaaaaaaaaaaaaaaaaaa',
    ],
    ['-F', 'KTS-1'],
    ['-F', 'CNI-DN-aaaaaaaaaaaaaaaaaaaaa'],
    ['-X', 'KTS-1'],
    ['-X', 'CNI-DN-aaaaaaaaaaaaaaaaaaaaa'],
  ]);
});

test('the shared chains are removed with their last user, unless they existed before us', () => {
  const alone = NAT.split('\n')
    .filter((line) => !line.includes('other'))
    .join('\n');
  const removed = (chainsBefore: string[]) =>
    selectIptablesCleanUp(alone, { ...own, chainsBefore })
      .commands.filter(([verb]) => verb === '-X')
      .map(([, chain]) => chain);
  assert.deepEqual(removed([]), ['KTS-1', 'CNI-DN-aaaaaaaaaaaaaaaaaaaaa', 'CNI-HOSTPORT-DNAT', 'CNI-HOSTPORT-MASQ']);
  assert.deepEqual(removed(['CNI-HOSTPORT-DNAT', 'CNI-HOSTPORT-MASQ']), ['KTS-1', 'CNI-DN-aaaaaaaaaaaaaaaaaaaaa']);
});

test('on a machine without any of it nothing is removed', () => {
  assert.deepEqual(selectIptablesCleanUp('-P PREROUTING ACCEPT\n-N DOCKER\n', own).commands, []);
  assert.deepEqual(chainNames(NAT).length, 6);
});

/** The output of `iptables -S` after an agent has run. */
const MADE: RulesByTable = {
  mangle: '-P INPUT ACCEPT\n-N KUBE-IPTABLES-HINT\n-N KUBE-KUBELET-CANARY\n',
  nat: '-N KTS-0123abcd\n-N KUBE-KUBELET-CANARY\n-N DOCKER\n',
  filter: `-N KUBE-FIREWALL
-N KUBE-KUBELET-CANARY
-A INPUT -j KUBE-FIREWALL
-A OUTPUT -j KUBE-FIREWALL
-A KUBE-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8 -m comment --comment "block incoming localnet connections" -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP
`,
};
const removed = (rules: RulesByTable, before: readonly string[] = []): string[] =>
  selectKubeletChainCleanUp(rules, before)
    .filter((args) => args.includes('-X'))
    .map(([, table, , chain]) => `${table} ${chain}`);
const ALL = [
  'mangle KUBE-IPTABLES-HINT',
  'mangle KUBE-KUBELET-CANARY',
  'nat KUBE-KUBELET-CANARY',
  'filter KUBE-FIREWALL',
  'filter KUBE-KUBELET-CANARY',
];

test('the chains that our agents create for other programs are removed with their jumps', () => {
  assert.deepEqual(removed(MADE), ALL);
  assert.deepEqual(
    selectKubeletChainCleanUp(MADE, []).filter((args) => args.includes('-D')),
    [
      ['-t', 'filter', '-D', 'INPUT', '-j', 'KUBE-FIREWALL'],
      ['-t', 'filter', '-D', 'OUTPUT', '-j', 'KUBE-FIREWALL'],
    ],
  );
  assert.deepEqual(selectKubeletChainCleanUp({ mangle: '', nat: '', filter: '' }, []), []);
});

test('a chain that existed before us is kept, in each table', () => {
  assert.deepEqual(sharedChains(MADE), ALL);
  for (const each of ALL)
    assert.deepEqual(
      removed(MADE, [each]),
      ALL.filter((other) => other !== each),
    );
});

test('a chain with rules of another program, or that another chain jumps to, is kept', () => {
  const without = (rules: Partial<RulesByTable>): string[] =>
    ALL.filter((each) => !removed({ ...MADE, ...rules }).includes(each));
  assert.deepEqual(without({ filter: `${MADE.filter}-A KUBE-FIREWALL -m mark --mark 0x8000/0x8000 -j DROP\n` }), [
    'filter KUBE-FIREWALL',
  ]);
  assert.deepEqual(without({ filter: `${MADE.filter}-A FORWARD -j KUBE-FIREWALL\n` }), ['filter KUBE-FIREWALL']);
  assert.deepEqual(without({ nat: `${MADE.nat}-A KUBE-KUBELET-CANARY -j RETURN\n` }), ['nat KUBE-KUBELET-CANARY']);
  assert.deepEqual(
    without({ mangle: `${MADE.mangle}-N KUBE-PROXY-CANARY\n` }),
    ['filter KUBE-FIREWALL'],
    'kube-proxy has the same rule there',
  );
});

test('our instance is recognized by its chain in nat', () => {
  assert.deepEqual(
    [
      hasInstanceChain(MADE),
      hasInstanceChain(MADE, 'KTS-0123abcd'),
      hasInstanceChain({ ...MADE, nat: '-N KTS-0123abcd-SERVICES\n' }),
    ],
    [true, false, false],
  );
});

test('a kubelet is recognized by its command line; our other commands are not kubelets', () => {
  const line = (...args: string[]): string => [...args, ''].join('\u0000');
  for (const args of [
    ['/usr/bin/kubelet', '--config', 'x'],
    ['kubelet'],
    ['/usr/local/bin/k3s server'],
    ['/x/node', '--optimize-for-size', '/x/dist/kubelet.js', '--config', 'x'],
    ['node', '/x/src/kubelet/cmd/main.ts'],
  ])
    assert.equal(isKubelet(line(...args)), true, args.join(' '));
  for (const args of [
    ['vi', '/usr/bin/kubelet'],
    ['node', '/x/dist/kubelet.js', 'logs', 'p'],
    ['node', '/x/dist/kubelet-control-plane.js'],
    ['/usr/bin/kubelet-exporter'],
    [''],
  ])
    assert.equal(isKubelet(line(...args)), false, args.join(' '));
});
