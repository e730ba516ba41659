import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod } from '../../api/core/pod.ts';
import type { PodSpec } from '../../api/core/pod-spec.ts';
import { dottedSysctl, sysctlNamespace } from '../../api/sysctl-name.ts';
import { checkSysctls, sysctlAllowList, sysctlPatternProblem } from './sysctls.ts';

const podWith = (names: readonly string[], spec: Partial<PodSpec> = {}): Pod => ({
  metadata: { name: 'p', namespace: 'n', uid: 'u' },
  spec: { containers: [], securityContext: { sysctls: names.map((name) => ({ name, value: '1' })) }, ...spec },
});
const modern = '6.1.0-13-amd64';
const verdict = (name: string, allowed: readonly string[] = [], spec: Partial<PodSpec> = {}): string | undefined =>
  checkSysctls(podWith([name], spec), sysctlAllowList(allowed, modern))?.message;

describe('which sysctls a pod may set', () => {
  test('the safe ones are allowed on every node whose kernel namespaces them', () => {
    const versions = {
      'net.ipv4.ip_local_port_range': '3.10',
      'net.ipv4.ip_local_reserved_ports': '3.16',
      'net.ipv4.tcp_keepalive_time': '4.5.1',
      'net.ipv4.tcp_fin_timeout': '4.6-rc1',
      'net.ipv4.tcp_rmem': '4.15',
      'net.ipv4.tcp_wmem': '5.0',
    };
    for (const [name, version] of Object.entries(versions))
      assert.equal(checkSysctls(podWith([name]), sysctlAllowList([], version)), undefined, name);
    const older = {
      'net.ipv4.ip_local_reserved_ports': '3.15',
      'net.ipv4.tcp_keepalive_probes': '4.4.300',
      'net.ipv4.tcp_fin_timeout': '4.5',
      'net.ipv4.tcp_rmem': '4.9',
      'net.ipv4.tcp_wmem': 'unreadable',
    };
    for (const [name, version] of Object.entries(older))
      assert.equal(
        checkSysctls(podWith([name]), sysctlAllowList([], version))?.message,
        `forbidden sysctl: "${name}" not allowlisted`,
      );
  });

  test("any other is forbidden with upstream's reason and message, which names the first one", () => {
    assert.deepEqual(
      checkSysctls(podWith(['net.ipv4.tcp_syncookies', 'kernel.msgmax', 'vm.swappiness']), sysctlAllowList([], modern)),
      { reason: 'SysctlForbidden', message: 'forbidden sysctl: "kernel.msgmax" not allowlisted' },
    );
    assert.equal(checkSysctls(podWith([]), sysctlAllowList([], modern)), undefined);
  });

  test('the operator allows by name and by prefix, in either form', () => {
    assert.equal(verdict('kernel.msgmax', ['kernel.msg*']), undefined);
    assert.equal(verdict('kernel/msgmax', ['kernel.msgmax']), undefined);
    assert.equal(verdict('net.core.somaxconn', ['net/core/*']), undefined);
    assert.equal(verdict('net/ipv4/conf/eno2.100/rp_filter', ['net.ipv4.conf.*']), undefined);
    assert.equal(
      verdict('net.core.somaxconn', ['net.ipv4.*']),
      'forbidden sysctl: "net.core.somaxconn" not allowlisted',
    );
    assert.equal(verdict('kernel.shmmax', ['kernel.sem']), 'forbidden sysctl: "kernel.shmmax" not allowlisted');
  });

  test('no sysctl may change a namespace of the host', () => {
    assert.equal(
      verdict('kernel.shm_rmid_forced', [], { hostIPC: true }),
      'forbidden sysctl: "kernel.shm_rmid_forced" not allowed with host IPC enabled',
    );
    assert.equal(
      verdict('net.core.somaxconn', ['net.*'], { hostNetwork: true }),
      'forbidden sysctl: "net.core.somaxconn" not allowed with host Net enabled',
    );
    assert.equal(verdict('net.core.somaxconn', ['net.*'], { hostIPC: true, hostPID: true }), undefined);
  });

  test('an entry that is not a pattern or not namespaced is rejected in the words of upstream, and allows nothing', () => {
    assert.match(
      sysctlPatternProblem('Net.core') ?? '',
      /^sysctl "Net\.core" must have at most 253 characters and match regex \(\[a-z0-9\]\(\[-_a-z0-9\]\*\[a-z0-9\]\)\?\[\\\.\/\]\)\*\(\[a-z0-9\]\[-_a-z0-9\]\*\)\?\[a-z0-9\*\]$/,
    );
    assert.equal(sysctlPatternProblem('kernel.*'), 'the sysctls "kernel." are not known to be namespaced');
    assert.equal(sysctlPatternProblem('vm.swappiness'), 'the sysctls "vm.swappiness" are not known to be namespaced');
    assert.equal(sysctlPatternProblem('*'), 'the sysctls "" are not known to be namespaced');
    assert.notEqual(sysctlPatternProblem(`net.${'a'.repeat(250)}`), undefined);
    for (const good of [
      'kernel.shm*',
      'kernel.msg*',
      'kernel.sem',
      'fs.mqueue.*',
      'net.*',
      'net/ipv4/conf/eth0.1/forwarding',
    ])
      assert.equal(sysctlPatternProblem(good), undefined, good);
    for (const name of ['vm.swappiness', 'kernel.hostname'])
      assert.notEqual(verdict(name, ['*', 'vm.*', 'kernel.*', 'kernel.hostname', '']), undefined, name);
  });
});

test('the first separator decides how a name is read', () => {
  assert.deepEqual(
    ['net/ipv4/conf/eno2.100/rp_filter', 'net.ipv4.conf.eno2/100.rp_filter', 'kernel'].map(dottedSysctl),
    ['net.ipv4.conf.eno2/100.rp_filter', 'net.ipv4.conf.eno2/100.rp_filter', 'kernel'],
  );
  assert.deepEqual(
    ['net/x', 'kernel/sem', 'fs.mqueue.msg_max', 'fs.mqueue', 'network.x', 'kernel.domainname'].map(sysctlNamespace),
    ['Net', 'IPC', 'IPC', undefined, undefined, undefined],
  );
});
