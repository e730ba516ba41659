import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  chainNames,
  haveOthersMadeHints,
  isShimOf,
  parseParentPid,
  parseStartTicks,
  selectHintCleanUp,
  selectIptablesCleanUp,
  selectMountsBelow,
} from './host-tables.ts';

test('mounts below a folder come deepest first, a neighbour with the same beginning does not come, escapes are undone', () => {
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

test('only a shim that serves our containerd is ours', () => {
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

test('clean-up removes our chain and the plugins rules for our network, and leaves other users of the shared chain and other engines alone', () => {
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

test('the shared chains go with the last user, unless they were there before us', () => {
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

test('on a machine without any of it there is nothing to remove', () => {
  assert.deepEqual(selectIptablesCleanUp('-P PREROUTING ACCEPT\n-N DOCKER\n', own).commands, []);
  assert.deepEqual(chainNames(NAT).length, 6);
});

test('the chains an agent makes for others go with the last instance of the machine, unless another agent had made them', () => {
  const [own, neighbour] = ['KTS-0123abcd', 'KTS-89abcdef'];
  assert.equal(haveOthersMadeHints(['KUBE-KUBELET-CANARY']), true);
  assert.equal(
    haveOthersMadeHints(['KUBE-KUBELET-CANARY', neighbour]),
    false,
    'an instance of ours runs, so it made them',
  );
  assert.equal(haveOthersMadeHints([own]), false);
  assert.deepEqual(selectHintCleanUp([own, neighbour], { chain: own, othersMadeThem: false }), []);
  assert.deepEqual(selectHintCleanUp([own], { chain: own, othersMadeThem: true }), []);
  const commands = selectHintCleanUp([own, 'KTS-0123abcd-SVC'], { chain: own, othersMadeThem: false }).map((args) =>
    args.join(' '),
  );
  assert.deepEqual(commands.slice(0, 4), [
    '-t filter -D INPUT -j KUBE-FIREWALL',
    '-t filter -D OUTPUT -j KUBE-FIREWALL',
    '-t mangle -F KUBE-IPTABLES-HINT',
    '-t mangle -X KUBE-IPTABLES-HINT',
  ]);
  assert.ok(commands.includes('-t filter -X KUBE-FIREWALL') && commands.includes('-t nat -X KUBE-KUBELET-CANARY'));
});
