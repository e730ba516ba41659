import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { c0, refusalOf, testLevel } from './testing/level-cases.ts';
import type { LevelCase } from './testing/level-cases.ts';

describe('the level baseline', () => {
  const cases: readonly LevelCase[] = [
    ['a pod without special settings', {}, ''],
    [
      'the AppArmor profile Unconfined',
      { [`${c0}.appArmorProfile`]: { type: 'Unconfined' } },
      'forbidden AppArmor profile (container "main" must not set AppArmor profile type to "Unconfined")',
    ],
    [
      'the AppArmor annotation "unconfined"',
      { 'metadata.annotations': { 'container.apparmor.security.beta.kubernetes.io/main': 'unconfined' } },
      'forbidden AppArmor profile (annotation must not set AppArmor profile type to "container.apparmor.security.beta.kubernetes.io/main="unconfined"")',
    ],
    [
      'capabilities beyond the default ones',
      { [c0]: { capabilities: { add: ['SYS_ADMIN', 'CHOWN', 'NET_RAW'] } } },
      'non-default capabilities (container "main" must not include "NET_RAW", "SYS_ADMIN" in securityContext.capabilities.add)',
    ],
    [
      "the host's network and IPC namespaces",
      { 'spec.hostNetwork': true, 'spec.hostIPC': true },
      'host namespaces (hostNetwork=true, hostIPC=true)',
    ],
    [
      'hostPath volumes',
      {
        'spec.volumes': [
          { name: 'a', hostPath: { path: '/' } },
          { name: 'b', hostPath: { path: '/' } },
        ],
      },
      'hostPath volumes (volumes "a", "b")',
    ],
    [
      'host ports',
      {
        'spec.containers[0].ports': [
          { containerPort: 1, hostPort: 80 },
          { containerPort: 2, hostPort: 443 },
        ],
      },
      'hostPort (container "main" uses hostPorts 443, 80)',
    ],
    [
      'a probe of another host',
      { 'spec.containers[0].livenessProbe': { httpGet: { host: '10.0.0.1', port: 80 } } },
      'probe or lifecycle host (container "main" uses probe or lifecycle host "10.0.0.1")',
    ],
    [
      'a privileged container',
      { [c0]: { privileged: true } },
      'privileged (container "main" must not set securityContext.privileged=true)',
    ],
    [
      'an unmasked /proc',
      { [c0]: { procMount: 'Unmasked' } },
      'procMount (container "main" must not set securityContext.procMount to "Unmasked")',
    ],
    [
      'an SELinux type, user and role that are not allowed',
      { 'spec.securityContext': { seLinuxOptions: { type: 'spc_t', user: 'u', role: 'r' } } },
      'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set; role may not be set)',
    ],
    [
      'the seccomp profile Unconfined',
      {
        'spec.securityContext': { seccompProfile: { type: 'Unconfined' } },
        [c0]: { seccompProfile: { type: 'Unconfined' } },
      },
      'seccompProfile (pod and container "main" must not set securityContext.seccompProfile.type to "Unconfined")',
    ],
    [
      'an unsafe sysctl',
      {
        'spec.securityContext': {
          sysctls: [
            { name: 'kernel.msgmax', value: '1' },
            { name: 'net.ipv4.tcp_rmem', value: '1' },
          ],
        },
      },
      'forbidden sysctls (kernel.msgmax)',
    ],
    [
      'a Windows HostProcess pod',
      { 'spec.securityContext': { windowsOptions: { hostProcess: true } } },
      'hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)',
    ],
    ['a pod without a security context', { 'spec.securityContext': undefined, [c0]: undefined }, ''],
    [
      'AppArmor profiles that confine the container',
      {
        'spec.securityContext': { appArmorProfile: { type: 'RuntimeDefault' } },
        [`${c0}.appArmorProfile`]: { type: 'Localhost', localhostProfile: 'p' },
        'metadata.annotations': {
          'container.apparmor.security.beta.kubernetes.io/a': 'runtime/default',
          'container.apparmor.security.beta.kubernetes.io/b': 'localhost/p',
          'container.apparmor.security.beta.kubernetes.io/c': '',
          'apparmor.example.com/d': 'unconfined',
        },
      },
      '',
    ],
    [
      'emptyDir volumes and container ports',
      {
        'spec.volumes': [{ name: 'a', emptyDir: {} }],
        'spec.containers[0].ports': [{ containerPort: 1 }, { containerPort: 2, hostPort: 0 }],
      },
      '',
    ],
    [
      'the same host port in two containers',
      {
        'spec.containers': ['a', 'b'].map((name) => ({
          name,
          ports: [{ containerPort: 1 }, { containerPort: 2, hostPort: 80 }],
        })),
      },
      'hostPort (containers "a", "b" use hostPort 80)',
    ],
    [
      'an unmasked /proc in one of two containers',
      {
        'spec.containers': [
          { name: 'a', securityContext: { procMount: 'Unmasked' } },
          { name: 'b', securityContext: { procMount: 'Default' } },
        ],
      },
      'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
    ],
    [
      'the SELinux types that are allowed',
      {
        'spec.securityContext': { seLinuxOptions: { type: 'container_kvm_t' } },
        [c0]: { seLinuxOptions: { level: 's0' } },
      },
      '',
    ],
    [
      'an SELinux user in a container',
      { 'spec.securityContext': { seLinuxOptions: {} }, [c0]: { seLinuxOptions: { user: 'u' } } },
      'seLinuxOptions (container "main" set forbidden securityContext.seLinuxOptions: user may not be set)',
    ],
    [
      'an SELinux role in a container',
      { 'spec.securityContext': { seLinuxOptions: {} }, [c0]: { seLinuxOptions: { role: 'r' } } },
      'seLinuxOptions (container "main" set forbidden securityContext.seLinuxOptions: role may not be set)',
    ],
    [
      'a Windows HostProcess container',
      {
        'spec.containers': [
          { name: 'a', securityContext: { windowsOptions: { hostProcess: true } } },
          { name: 'b', securityContext: { windowsOptions: { hostProcess: false } } },
        ],
      },
      'hostProcess (container "a" must not set securityContext.windowsOptions.hostProcess=true)',
    ],
  ];
  testLevel('baseline', cases);

  it('checks init and ephemeral containers as well, in the order init, regular, ephemeral', () => {
    const bad = (name: string) => ({ name, image: 'x', securityContext: { privileged: true } });
    assert.equal(
      refusalOf('baseline', {
        'spec.initContainers': [bad('init')],
        'spec.containers': [bad('a')],
        'spec.ephemeralContainers': [bad('debug')],
      }),
      'privileged (containers "init", "a", "debug" must not set securityContext.privileged=true)',
    );
  });

  it('reads seccomp profiles from annotations before v1.19', () => {
    const annotation = (where: string, value: string) =>
      refusalOf('baseline', { 'metadata.annotations': { [`${where}`]: value } }, 18);
    const ofContainer = 'container.seccomp.security.alpha.kubernetes.io/main';
    for (const good of ['runtime/default', 'docker/default', 'localhost/p'])
      assert.equal(annotation(ofContainer, good), '');
    assert.equal(annotation('container.seccomp.security.alpha.kubernetes.io/other', 'unconfined'), '');
    for (const bad of ['unconfined', '', 'x-localhost/'])
      assert.equal(
        annotation(ofContainer, bad),
        `seccompProfile (forbidden annotation ${ofContainer}=${JSON.stringify(bad)})`,
      );
  });

  it('allows the safe sysctls at every version', () => {
    const safe =
      'kernel.shm_rmid_forced net.ipv4.ip_local_port_range net.ipv4.tcp_syncookies net.ipv4.ping_group_range net.ipv4.ip_unprivileged_port_start';
    const changes = { 'spec.securityContext': { sysctls: safe.split(' ').map((name) => ({ name, value: '1' })) } };
    for (const minor of [0, 27, 29, Infinity]) assert.equal(refusalOf('baseline', changes, minor), '');
  });

  it('applies the rules of the requested version', () => {
    const sysctl = {
      'spec.securityContext': {
        sysctls: [
          { name: 'net.ipv4.tcp_rmem', value: '1' },
          { name: 'net.ipv4.tcp_fin_timeout', value: '1' },
          { name: 'net.ipv4.ip_local_reserved_ports', value: '1' },
        ],
      },
    };
    assert.deepEqual(
      [32, 31, 28, 26].map((minor) => refusalOf('baseline', sysctl, minor)),
      [
        '',
        'forbidden sysctls (net.ipv4.tcp_rmem)',
        'forbidden sysctls (net.ipv4.tcp_rmem, net.ipv4.tcp_fin_timeout)',
        'forbidden sysctls (net.ipv4.tcp_rmem, net.ipv4.tcp_fin_timeout, net.ipv4.ip_local_reserved_ports)',
      ],
    );
    const probe = { 'spec.containers[0].readinessProbe': { tcpSocket: { host: 'x', port: 80 } } };
    assert.deepEqual([refusalOf('baseline', probe, 33), refusalOf('baseline', probe, 34) === ''], ['', false]);
    const unmasked = { 'spec.hostUsers': false, [c0]: { procMount: 'Unmasked' } };
    assert.deepEqual([refusalOf('baseline', unmasked, 34) === '', refusalOf('baseline', unmasked, 35)], [false, '']);
    const engine = { 'spec.securityContext': { seLinuxOptions: { type: 'container_engine_t' } } };
    assert.deepEqual([refusalOf('baseline', engine, 30) === '', refusalOf('baseline', engine, 31)], [false, '']);
    const annotated = { 'metadata.annotations': { 'seccomp.security.alpha.kubernetes.io/pod': 'unconfined' } };
    assert.equal(
      refusalOf('baseline', annotated, 18),
      'seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod="unconfined")',
    );
    assert.equal(refusalOf('baseline', annotated, 19), '');
    assert.equal(
      refusalOf('baseline', { [c0]: { privileged: true } }, 99),
      refusalOf('baseline', { [c0]: { privileged: true } }),
      'versions to come are as the latest',
    );
  });
});
