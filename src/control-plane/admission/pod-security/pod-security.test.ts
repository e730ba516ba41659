import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configMaps, deployments, namespaces, pods } from '../../../api/client/resource-types.ts';
import type { Deployment } from '../../../api/apps/deployment.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { Changes } from '../../../api/testing/pod-builder.ts';
import { AdmissionFixture, namespace } from '../testing/admission-fixture.ts';
import { judged } from './check.ts';
import { describeViolations, violationsOf } from './evaluate.ts';
import { readPolicy } from './policy.ts';
import type { Policy } from './policy.ts';
import { warningsOfExisting } from './existing-pods.ts';
import { readPodSecurityConfiguration } from './pod-security-configuration.ts';
import { createPodSecurity, podSecurityDefaults } from './pod-security.ts';
import type { PodSecuritySettings } from './pod-security.ts';

const c0 = 'spec.containers[0].securityContext';
/** Whatever the strictest level asks. */
const strict: Changes = {
  [c0]: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
  'spec.securityContext': { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
};
const label = (mode: string, value: string) => ({ [`pod-security.kubernetes.io/${mode}`]: value });
const refusalOf = (level: 'baseline' | 'restricted', changes: Changes, minor = Infinity): string => {
  const { metadata, spec } = buildPod(structuredClone({ ...(level === 'restricted' && strict), ...changes }));
  return describeViolations(violationsOf({ level, minor }, judged(metadata, spec)));
};

describe('the level baseline', () => {
  const cases: readonly [string, Changes, string][] = [
    ['nothing special', {}, ''],
    [
      'an AppArmor profile that confines nothing',
      { [`${c0}.appArmorProfile`]: { type: 'Unconfined' } },
      'forbidden AppArmor profile (container "main" must not set AppArmor profile type to "Unconfined")',
    ],
    [
      'an old annotation for AppArmor',
      { 'metadata.annotations': { 'container.apparmor.security.beta.kubernetes.io/main': 'unconfined' } },
      'forbidden AppArmor profile (annotation must not set AppArmor profile type to "container.apparmor.security.beta.kubernetes.io/main="unconfined"")',
    ],
    [
      'capabilities',
      { [c0]: { capabilities: { add: ['SYS_ADMIN', 'CHOWN', 'NET_RAW'] } } },
      'non-default capabilities (container "main" must not include "NET_RAW", "SYS_ADMIN" in securityContext.capabilities.add)',
    ],
    [
      'namespaces of the host',
      { 'spec.hostNetwork': true, 'spec.hostIPC': true },
      'host namespaces (hostNetwork=true, hostIPC=true)',
    ],
    [
      'paths of the host',
      {
        'spec.volumes': [
          { name: 'a', hostPath: { path: '/' } },
          { name: 'b', hostPath: { path: '/' } },
        ],
      },
      'hostPath volumes (volumes "a", "b")',
    ],
    [
      'ports of the host',
      {
        'spec.containers[0].ports': [
          { containerPort: 1, hostPort: 80 },
          { containerPort: 2, hostPort: 443 },
        ],
      },
      'hostPort (container "main" uses hostPorts 443, 80)',
    ],
    [
      'probes of another host',
      { 'spec.containers[0].livenessProbe': { httpGet: { host: '10.0.0.1', port: 80 } } },
      'probe or lifecycle host (container "main" uses probe or lifecycle host "10.0.0.1")',
    ],
    [
      'privileges',
      { [c0]: { privileged: true } },
      'privileged (container "main" must not set securityContext.privileged=true)',
    ],
    [
      'all of /proc',
      { [c0]: { procMount: 'Unmasked' } },
      'procMount (container "main" must not set securityContext.procMount to "Unmasked")',
    ],
    [
      'SELinux of its own',
      { 'spec.securityContext': { seLinuxOptions: { type: 'spc_t', user: 'u', role: 'r' } } },
      'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "spc_t"; user may not be set; role may not be set)',
    ],
    [
      'no seccomp',
      {
        'spec.securityContext': { seccompProfile: { type: 'Unconfined' } },
        [c0]: { seccompProfile: { type: 'Unconfined' } },
      },
      'seccompProfile (pod and container "main" must not set securityContext.seccompProfile.type to "Unconfined")',
    ],
    [
      'sysctls',
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
      'processes of a Windows host',
      { 'spec.securityContext': { windowsOptions: { hostProcess: true } } },
      'hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)',
    ],
    ['a pod without a security context', { 'spec.securityContext': undefined, [c0]: undefined }, ''],
    [
      'AppArmor profiles that confine',
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
      'volumes and ports that are not of the host',
      {
        'spec.volumes': [{ name: 'a', emptyDir: {} }],
        'spec.containers[0].ports': [{ containerPort: 1 }, { containerPort: 2, hostPort: 0 }],
      },
      '',
    ],
    [
      'one port of the host in two containers',
      {
        'spec.containers': ['a', 'b'].map((name) => ({
          name,
          ports: [{ containerPort: 1 }, { containerPort: 2, hostPort: 80 }],
        })),
      },
      'hostPort (containers "a", "b" use hostPort 80)',
    ],
    [
      'all of /proc in one of two containers',
      {
        'spec.containers': [
          { name: 'a', securityContext: { procMount: 'Unmasked' } },
          { name: 'b', securityContext: { procMount: 'Default' } },
        ],
      },
      'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
    ],
    [
      'SELinux types of containers',
      {
        'spec.securityContext': { seLinuxOptions: { type: 'container_kvm_t' } },
        [c0]: { seLinuxOptions: { level: 's0' } },
      },
      '',
    ],
    [
      'an SELinux user of a container',
      { 'spec.securityContext': { seLinuxOptions: {} }, [c0]: { seLinuxOptions: { user: 'u' } } },
      'seLinuxOptions (container "main" set forbidden securityContext.seLinuxOptions: user may not be set)',
    ],
    [
      'an SELinux role of a container',
      { 'spec.securityContext': { seLinuxOptions: {} }, [c0]: { seLinuxOptions: { role: 'r' } } },
      'seLinuxOptions (container "main" set forbidden securityContext.seLinuxOptions: role may not be set)',
    ],
    [
      'one container of a Windows host',
      {
        'spec.containers': [
          { name: 'a', securityContext: { windowsOptions: { hostProcess: true } } },
          { name: 'b', securityContext: { windowsOptions: { hostProcess: false } } },
        ],
      },
      'hostProcess (container "a" must not set securityContext.windowsOptions.hostProcess=true)',
    ],
  ];
  for (const [name, changes, text] of cases)
    it(`judges ${name}`, () => assert.equal(refusalOf('baseline', changes), text));

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

  it('read seccomp profiles from the annotations of the pod and its containers before v1.19', () => {
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

describe('the level restricted', () => {
  const cases: readonly [string, Changes, string][] = [
    ['nothing wrong', {}, ''],
    [
      'the way to more privileges',
      { [`${c0}.allowPrivilegeEscalation`]: undefined },
      'allowPrivilegeEscalation != false (container "main" must set securityContext.allowPrivilegeEscalation=false)',
    ],
    [
      'capabilities, by its own rule alone',
      { [`${c0}.capabilities`]: { add: ['SYS_ADMIN', 'NET_BIND_SERVICE'] } },
      'unrestricted capabilities (container "main" must set securityContext.capabilities.drop=["ALL"]; container "main" must not include "SYS_ADMIN" in securityContext.capabilities.add)',
    ],
    [
      'volumes',
      {
        'spec.volumes': [
          { name: 'a', hostPath: { path: '/' } },
          { name: 'b', nfs: { server: 's', path: '/' } },
          { name: 'c', emptyDir: {} },
        ],
      },
      'restricted volume types (volumes "a", "b" use restricted volume types "hostPath", "nfs")',
    ],
    [
      'root by omission',
      { 'spec.securityContext.runAsNonRoot': undefined },
      'runAsNonRoot != true (pod or container "main" must set securityContext.runAsNonRoot=true)',
    ],
    [
      'root as asked',
      { 'spec.securityContext.runAsNonRoot': false, [`${c0}.runAsNonRoot`]: false },
      'runAsNonRoot != true (pod and container "main" must not set securityContext.runAsNonRoot=false)',
    ],
    ['user 0', { 'spec.securityContext.runAsUser': 0 }, 'runAsUser=0 (pod must not set runAsUser=0)'],
    [
      'no word of seccomp',
      { 'spec.securityContext.seccompProfile': undefined },
      'seccompProfile (pod or container "main" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    ],
    [
      'what the pod leaves to its containers',
      {
        'spec.securityContext': undefined,
        'spec.containers': [true, undefined].map((runAsNonRoot, index) => ({
          name: `c${index}`,
          securityContext: {
            allowPrivilegeEscalation: false,
            capabilities: { drop: ['ALL'] },
            runAsNonRoot,
            ...(runAsNonRoot === true && { seccompProfile: { type: 'Localhost' } }),
          },
        })),
      },
      'runAsNonRoot != true (pod or container "c1" must set securityContext.runAsNonRoot=true), seccompProfile (pod or container "c1" must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost")',
    ],
    ['user 0 of a container', { [`${c0}.runAsUser`]: 0 }, 'runAsUser=0 (container "main" must not set runAsUser=0)'],
    [
      'a container without capabilities',
      { [`${c0}.capabilities`]: undefined },
      'unrestricted capabilities (container "main" must set securityContext.capabilities.drop=["ALL"])',
    ],
    [
      'an unconfined pod, by its own rule alone',
      { 'spec.securityContext.seccompProfile': { type: 'Unconfined' } },
      'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
    ],
    [
      'all of /proc, by its own rule alone',
      { [`${c0}.procMount`]: 'Unmasked' },
      'procMount (container "main" must not set securityContext.procMount to "Unmasked")',
    ],
    [
      'what the baseline forbids, before its own',
      { 'spec.hostPID': true, 'spec.securityContext.runAsUser': 0 },
      'host namespaces (hostPID=true), runAsUser=0 (pod must not set runAsUser=0)',
    ],
  ];
  for (const [name, changes, text] of cases)
    it(`judges ${name}`, () => assert.equal(refusalOf('restricted', changes), text));

  it('applies to Windows pods only the rules that make sense there', () => {
    const windows = { 'spec.os': { name: 'windows' }, [c0]: undefined, 'spec.securityContext': { runAsNonRoot: true } };
    assert.equal(refusalOf('restricted', windows), '');
    assert.notEqual(refusalOf('restricted', windows, 24), '');
  });

  it('allows root in a pod with its own user namespace', () => {
    const own = {
      'spec.hostUsers': false,
      'spec.securityContext.runAsNonRoot': undefined,
      'spec.securityContext.runAsUser': 0,
    };
    assert.equal(refusalOf('restricted', own), '');
    assert.notEqual(refusalOf('restricted', own, 34), '');
  });
});

describe('the levels in the labels of a namespace', () => {
  const { defaults } = podSecurityDefaults;

  it('are empty without labels; warnings default to the enforced level', () => {
    assert.deepEqual(readPolicy({}, defaults), { policy: defaults, errors: [] });
    const { policy } = readPolicy({ ...label('enforce', 'baseline'), ...label('enforce-version', 'v1.20') }, defaults);
    assert.deepEqual(policy, {
      enforce: { level: 'baseline', minor: 20 },
      audit: { level: 'privileged', minor: Infinity },
      warn: { level: 'baseline', minor: 20 },
    });
    assert.equal(
      readPolicy({ ...label('enforce', 'baseline'), ...label('warn', 'privileged') }, defaults).policy.warn.level,
      'privileged',
    );
  });

  it('names a version by its minor number, or as the latest', () => {
    const minorOf = (version: string) => readPolicy(label('warn-version', version), defaults).policy.warn.minor;
    const wrong = (version: string) => readPolicy(label('warn-version', version), defaults).errors.length;
    assert.deepEqual(['latest', 'v1.0', 'v1.7', 'v1.136'].map(minorOf), [Infinity, 0, 7, 136]);
    assert.deepEqual(['xv1.2', 'v1.2x', 'v1.02', 'v2.1', 'v1.', ''].map(wrong), [1, 1, 1, 1, 1, 1]);
  });

  it('warns of what is enforced at the version of its own label', () => {
    const own = readPolicy(
      { ...label('enforce', 'baseline'), ...label('enforce-version', 'v1.20'), ...label('warn-version', 'v1.30') },
      defaults,
    );
    assert.deepEqual(own.policy.warn, { level: 'baseline', minor: 30 });
    const stricter: Policy = {
      ...defaults,
      enforce: { level: 'baseline', minor: 20 },
      warn: { level: 'restricted', minor: 21 },
    };
    assert.deepEqual(
      readPolicy({}, { ...stricter, warn: defaults.warn }).policy.warn,
      defaults.warn,
      'no label enforces',
    );
    assert.deepEqual(
      readPolicy(label('enforce', 'baseline'), stricter).policy.warn,
      stricter.warn,
      'the default is stricter',
    );
    assert.deepEqual(readPolicy(label('enforce', 'restricted'), stricter).policy.warn, stricter.warn, 'as strict');
  });

  it('are restricted for an invalid enforce label, and empty for other invalid labels', () => {
    const { policy, errors } = readPolicy(
      { ...label('enforce', 'x'), ...label('audit', 'y'), ...label('warn-version', '1.2') },
      defaults,
    );
    assert.deepEqual(
      [policy.enforce.level, policy.audit.level, policy.warn.level],
      ['restricted', 'privileged', 'privileged'],
    );
    assert.deepEqual(
      errors.map(({ field, message }) => `${field}: ${message}`),
      [
        'metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "x": must be one of privileged, baseline, restricted',
        'metadata.labels[pod-security.kubernetes.io/audit]: Invalid value: "y": must be one of privileged, baseline, restricted',
        'metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: "1.2": must be "latest" or "v1.x"',
      ],
    );
  });
});

describe('PodSecurity', () => {
  function setUp(labels: Record<string, string>, settings: PodSecuritySettings = podSecurityDefaults) {
    const fixture = new AdmissionFixture();
    fixture.reader.put(namespaces, namespace('default', labels));
    return { fixture, plugin: createPodSecurity(fixture.reader, settings) };
  }
  const bad = buildPod({ 'spec.hostPID': true });
  const deployment = (spec: typeof bad.spec): Deployment => ({
    metadata: { name: 'd', namespace: 'default', uid: '' },
    spec: { selector: {}, template: { metadata: {}, spec } },
  });
  const exempting = (what: Partial<PodSecuritySettings['exemptions']>): PodSecuritySettings => ({
    ...podSecurityDefaults,
    exemptions: { ...podSecurityDefaults.exemptions, ...what },
  });

  it('refuses, audits and warns according to the namespace', async () => {
    const { fixture, plugin } = setUp({
      ...label('enforce', 'baseline'),
      ...label('audit', 'restricted'),
      ...label('audit-version', 'v1.0'),
    });
    const { refusal, annotations } = await fixture.write(plugin, pods, { object: bad });
    assert.equal(
      refusal,
      'pods "web" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)',
    );
    assert.equal(annotations['pod-security.kubernetes.io/enforce-policy'], 'baseline:latest');
    assert.match(
      annotations['pod-security.kubernetes.io/audit-violations'] ?? '',
      /^would violate PodSecurity "restricted:v1.0": host namespaces/,
    );
    const warned = await setUp(label('warn', 'baseline')).fixture.write(setUp(label('warn', 'baseline')).plugin, pods, {
      object: bad,
    });
    assert.deepEqual(
      [warned.refusal, warned.warnings],
      ['', ['would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)']],
    );
    const free = setUp({});
    assert.deepEqual((await free.fixture.write(free.plugin, pods, { object: bad })).annotations, {
      'pod-security.kubernetes.io/enforce-policy': 'privileged:latest',
    });
  });

  it('checks a pod again only when its images change, or a debug container is added', async () => {
    const { fixture, plugin } = setUp(label('enforce', 'baseline'));
    const update = (object: typeof bad, subresource = '') =>
      fixture.refusal(plugin, pods, { object, old: bad, subresource });
    assert.equal(await update(buildPod({ 'spec.hostPID': true, 'metadata.labels': { a: 'b' } })), '');
    assert.notEqual(await update(buildPod({ 'spec.hostPID': true, 'spec.containers[0].image': 'other' })), '');
    assert.notEqual(
      await update(
        buildPod({ 'spec.hostPID': true, 'spec.ephemeralContainers': [{ name: 'd', image: 'x' }] }),
        'ephemeralcontainers',
      ),
      '',
    );
    assert.equal(plugin.handles(fixture.attributes(pods, { object: bad, old: bad, subresource: 'status' })), false);
  });

  it('only warns about pod templates', async () => {
    const { fixture, plugin } = setUp(label('enforce', 'baseline'));
    const object = deployment(bad.spec);
    const { refusal, warnings } = await fixture.write(plugin, deployments, { object });
    assert.deepEqual(
      [refusal, warnings],
      ['', ['would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)']],
    );
    assert.equal(
      plugin.handles(fixture.attributes(deployments, { object, old: object, subresource: 'status' })),
      false,
    );
  });

  it('refuses invalid labels, unless they existed before', async () => {
    const { fixture, plugin } = setUp({});
    const wrong = namespace('x', label('enforce', 'foo'));
    const { error } = await fixture.write(plugin, namespaces, { object: wrong });
    assert.equal(
      error?.message,
      'Namespace "x" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "foo": must be one of privileged, baseline, restricted',
    );
    assert.equal(error.reason, 'Invalid');
    assert.equal(await fixture.refusal(plugin, namespaces, { object: wrong, old: wrong }), '');
  });

  it('warns about existing pods when a namespace becomes stricter, once for all pods of one controller', async () => {
    const { fixture, plugin } = setUp({});
    const owned = (name: string) =>
      buildPod({
        'metadata.name': name,
        'spec.hostPID': true,
        'metadata.ownerReferences': [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'x', controller: true }],
      });
    fixture.reader.put(
      pods,
      owned('b'),
      owned('c'),
      owned('a'),
      buildPod({ 'metadata.name': 'z', [c0]: { privileged: true } }),
      buildPod({ 'metadata.name': 'fine' }),
    );
    const { warnings } = await fixture.write(plugin, namespaces, {
      object: namespace('default', label('enforce', 'baseline')),
      old: namespace('default'),
    });
    assert.deepEqual(warnings, [
      'existing pods in namespace "default" violate the new PodSecurity enforce level "baseline:latest"',
      'a (and 2 other pods): host namespaces',
      'z: privileged',
    ]);
    const looser = await fixture.write(plugin, namespaces, {
      object: namespace('default', label('enforce', 'baseline')),
      old: namespace('default', label('enforce', 'restricted')),
    });
    assert.deepEqual(looser.warnings, []);
  });

  it('does not check exempt requests', async () => {
    const tries: readonly [PodSecuritySettings, string, Changes][] = [
      [exempting({ namespaces: ['default'] }), 'namespace', {}],
      [exempting({ usernames: ['jane'] }), 'user', {}],
      [exempting({ runtimeClasses: ['vm'] }), 'runtimeClass', { 'spec.runtimeClassName': 'vm' }],
    ];
    for (const [settings, why, changes] of tries) {
      const { fixture, plugin } = setUp(label('enforce', 'baseline'), settings);
      const { refusal, annotations } = await fixture.write(plugin, pods, {
        object: buildPod({ 'spec.hostPID': true, ...changes }),
      });
      assert.deepEqual([refusal, annotations], ['', { 'pod-security.kubernetes.io/exempt': why }]);
    }
    const { fixture, plugin } = setUp({}, exempting({ namespaces: ['mine'] }));
    const { warnings } = await fixture.write(plugin, namespaces, {
      object: namespace('mine', label('enforce', 'baseline')),
    });
    assert.deepEqual(warnings, [
      'namespace "mine" is exempt from Pod Security, and the policy (enforce=baseline:latest) will be ignored',
    ]);
  });

  it('judges nothing but pods, templates and namespaces that are created or updated', () => {
    const { fixture, plugin } = setUp(label('enforce', 'baseline'));
    const handles = (...given: Parameters<typeof fixture.attributes>) => plugin.handles(fixture.attributes(...given));
    assert.equal(handles(pods, { object: bad }), true);
    assert.equal(handles(pods, { object: bad, old: bad, subresource: 'resize' }), true);
    assert.equal(handles(configMaps, { object: { metadata: { name: 'a', namespace: 'default', uid: '' } } }), false);
    assert.equal(handles(namespaces, { object: namespace('x') }), true);
    assert.equal(handles(pods, { old: bad }), false);
    assert.equal(handles(namespaces, { old: namespace('x') }), false);
  });

  it('holds the pods of a namespace with wrong labels to the strictest level, and says so', async () => {
    const { fixture, plugin } = setUp(label('enforce', 'foo'));
    const { refusal, annotations } = await fixture.write(plugin, pods, { object: buildPod() });
    assert.match(refusal, /^pods "web" is forbidden: violates PodSecurity "restricted:latest": /);
    assert.equal(
      annotations['pod-security.kubernetes.io/error'],
      'Failed to parse policy: metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "foo": must be one of privileged, baseline, restricted',
    );
    const harmless = setUp(label('warn', 'foo'));
    const passed = await harmless.fixture.write(harmless.plugin, pods, { object: bad });
    assert.equal(passed.refusal, '');
    assert.match(passed.annotations['pod-security.kubernetes.io/error'] ?? '', /^Failed to parse policy: /);
    const good = setUp(label('enforce', 'baseline'));
    const clean = await good.fixture.write(good.plugin, pods, { object: buildPod() });
    assert.deepEqual(clean.annotations, { 'pod-security.kubernetes.io/enforce-policy': 'baseline:latest' });
    assert.deepEqual(clean.warnings, []);
  });

  it('refuses a pod of a namespace that is unknown, and lets a template pass with a note', async () => {
    const { fixture, plugin } = setUp({});
    const lost = buildPod({ 'spec.hostPID': true, 'metadata.namespace': 'lost' });
    assert.equal(
      (await fixture.write(plugin, pods, { object: lost })).error?.message,
      'Internal error occurred: failed to lookup namespace "lost"',
    );
    const object = { ...deployment(bad.spec), metadata: { name: 'd', namespace: 'lost', uid: '' } };
    const template = await fixture.write(plugin, deployments, { object });
    assert.deepEqual(
      [template.refusal, template.annotations],
      ['', { 'pod-security.kubernetes.io/error': 'failed to lookup namespace "lost"' }],
    );
  });

  it('does not judge templates where nothing is audited or warned of, nor for those who are exempt', async () => {
    const annotationsOf = async (labels: Record<string, string>, settings?: PodSecuritySettings) => {
      const { fixture, plugin } = setUp(labels, settings);
      const { refusal, annotations, warnings } = await fixture.write(plugin, deployments, {
        object: deployment(bad.spec),
      });
      assert.equal(refusal, '');
      return [annotations, warnings.length];
    };
    const quiet = { ...label('enforce', 'baseline'), ...label('warn', 'privileged') };
    assert.deepEqual(await annotationsOf(quiet), [{}, 0]);
    const audited = 'would violate PodSecurity "baseline:latest": host namespaces (hostPID=true)';
    assert.deepEqual(await annotationsOf({ ...quiet, ...label('audit', 'baseline') }), [
      { 'pod-security.kubernetes.io/audit-violations': audited },
      0,
    ]);
    assert.deepEqual(await annotationsOf(label('warn', 'baseline'), exempting({ namespaces: ['default'] })), [
      { 'pod-security.kubernetes.io/exempt': 'namespace' },
      0,
    ]);
  });

  it('judges a pod again for the image of an init container, and not for a debug container that is there already', async () => {
    const { fixture, plugin } = setUp(label('enforce', 'baseline'));
    const debugged = (image: string, initImage = 'i') =>
      buildPod({
        'spec.hostPID': true,
        'spec.initContainers': [{ name: 'i', image: initImage }],
        'spec.ephemeralContainers': [{ name: 'd', image }],
      });
    const update = async (object: typeof bad) =>
      (await fixture.refusal(plugin, pods, { object, old: debugged('x'), subresource: 'ephemeralcontainers' })) !== '';
    assert.equal(await update(debugged('x')), false);
    assert.equal(await update(debugged('y')), true);
    assert.equal(await update(debugged('x', 'j')), true);
  });

  it('warns of existing pods for another version, and not for no level, exempt pods and exempt namespaces', async () => {
    const warningsOf = async (
      from: Record<string, string>,
      to: Record<string, string>,
      settings = podSecurityDefaults,
    ) => {
      const { fixture, plugin } = setUp({}, settings);
      fixture.reader.put(
        pods,
        bad,
        buildPod({ 'metadata.name': 'vm', [`${c0}.privileged`]: true, 'spec.runtimeClassName': 'vm' }),
      );
      const object = namespace('default', to);
      return (await fixture.write(plugin, namespaces, { object, old: namespace('default', from) })).warnings;
    };
    const old = { ...label('enforce', 'baseline'), ...label('enforce-version', 'v1.20') };
    assert.equal((await warningsOf(old, label('enforce', 'baseline'))).length, 3);
    assert.equal(
      (await warningsOf(old, label('enforce', 'baseline'), exempting({ runtimeClasses: ['vm'] }))).length,
      2,
    );
    assert.deepEqual(await warningsOf(old, { ...old, ...label('audit', 'restricted') }), []);
    assert.deepEqual(await warningsOf(old, label('enforce', 'privileged')), []);
    assert.deepEqual(await warningsOf({}, old, exempting({ namespaces: ['default'] })), [
      'namespace "default" is exempt from Pod Security, and the policy (enforce=baseline:v1.20) will be ignored',
    ]);
  });

  it('warns of a policy that an exemption ignores only where a label asks for one', async () => {
    const warningsOf = async (labels: Record<string, string>, defaults: Partial<Policy> = {}) => {
      const { fixture, plugin } = setUp(
        {},
        {
          ...exempting({ namespaces: ['mine'] }),
          defaults: { ...podSecurityDefaults.defaults, ...defaults },
        },
      );
      return (await fixture.write(plugin, namespaces, { object: namespace('mine', labels) })).warnings;
    };
    assert.deepEqual(await warningsOf({}, { audit: { level: 'baseline', minor: 20 } }), []);
    assert.deepEqual(await warningsOf(label('enforce-version', 'v1.20')), []);
    const audit = { level: 'baseline', minor: 20 } as const;
    const text = (modes: string) =>
      `namespace "mine" is exempt from Pod Security, and the policy (${modes}) will be ignored`;
    assert.deepEqual(await warningsOf(label('audit-version', 'v1.21'), { audit }), [text('audit=baseline:v1.21')]);
    assert.deepEqual(await warningsOf(label('enforce', 'restricted'), { audit }), [text('enforce=restricted:latest')]);
  });
});

describe('warnings of existing pods', () => {
  const baseline = { level: 'baseline', minor: Infinity } as const;
  const owned = (name: string, changes: Changes, controller = true) =>
    buildPod({
      'metadata.name': name,
      'metadata.ownerReferences': [{ apiVersion: 'v1', kind: 'A', name: 'o', uid: 'o', controller }],
      ...changes,
    });

  it('come from one pod of each controller first, because no more than 3000 pods are checked', () => {
    const fine = owned('fine', {});
    const many = Array.from({ length: 3000 }, () => fine);
    const [last, lone] = [
      owned('last', { 'spec.hostPID': true }),
      buildPod({ 'metadata.name': 'lone', 'spec.hostIPC': true }),
    ];
    assert.deepEqual(warningsOfExisting('x', baseline, [...many, last, lone]), [
      'new PodSecurity enforce level only checked against the first 3000 of 3002 existing pods',
      'existing pods in namespace "x" violate the new PodSecurity enforce level "baseline:latest"',
      'lone: host namespaces',
    ]);
    assert.equal(
      warningsOfExisting('x', baseline, [...many.slice(2), last, lone]).length,
      2,
      'exactly 3000 are checked',
    );
    const uncontrolled = owned('owned', { 'spec.hostPID': true }, false);
    assert.equal(
      warningsOfExisting('x', baseline, [...many, uncontrolled]).length,
      3,
      'an owner that is no controller',
    );
    assert.deepEqual(warningsOfExisting('x', baseline, [fine]), []);
  });

  it('count the pods with the same violations and sort them', () => {
    const named = (name: string, changes: Changes) => buildPod({ 'metadata.name': name, ...changes });
    const pids = ['c', 'b'].map((name) => named(name, { 'spec.hostPID': true }));
    assert.deepEqual(
      warningsOfExisting('x', baseline, [...pids, named('a', { [c0]: { privileged: true } })]).slice(1),
      ['a: privileged', 'b (and 1 other pod): host namespaces'],
    );
  });
});

describe('PodSecurityConfiguration', () => {
  const file = (more: object, version = 'v1') =>
    readPodSecurityConfiguration({
      kind: 'PodSecurityConfiguration',
      apiVersion: `pod-security.admission.config.k8s.io/${version}`,
      ...more,
    });

  it('sets defaults and exemptions', () => {
    assert.deepEqual(file({}), podSecurityDefaults);
    const read = file(
      { defaults: { enforce: 'baseline', 'enforce-version': 'v1.30' }, exemptions: { namespaces: ['kube-system'] } },
      'v1beta1',
    );
    assert.ok(typeof read === 'object');
    assert.deepEqual(
      [read.defaults.enforce, read.exemptions.namespaces],
      [{ level: 'baseline', minor: 30 }, ['kube-system']],
    );
  });

  it('is refused when a part of it is invalid or unknown', () => {
    assert.equal(
      file({
        defaults: { enforce: 'x', 'warn-version': '1' },
        exemptions: { namespaces: ['a', 'a'], usernames: [''] },
      }),
      'defaults.enforce: Invalid value: "x": must be one of privileged, baseline, restricted, defaults.warn-version: Invalid value: "1": must be "latest" or "v1.x", ' +
        'exemptions.namespaces[1]: Duplicate value: "a", exemptions.usernames[0]: Invalid value: "": username must not be empty',
    );
    assert.match(String(file({ default: {} })), /unknown field "default"/);
    assert.match(
      String(file({}, 'v9')),
      /no kind "PodSecurityConfiguration" is registered for version "pod-security.admission.config.k8s.io\/v9"/,
    );
    assert.equal(readPodSecurityConfiguration({}), "Object 'Kind' is missing");
  });
});
