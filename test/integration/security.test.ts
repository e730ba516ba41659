// The effect of security contexts in the kernel: few pods with a container for each case, which report on themselves
// through /proc.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { readBusybox } from '../../src/up/image-store.ts';
import { busyboxImage, WEB_USER_IMAGE } from '../../src/up/images/catalogue.ts';
import { waitUntil } from '../../src/up/processes.ts';
import type { PodManifest } from './support/manifests.ts';
import { container, pod, shell, thenSleep } from './support/manifests.ts';
import { agentFixture, SIDE_BY_SIDE } from './support/suite.ts';
import { containerId, containerOf } from './support/watch.ts';

const config = {
  allowedUnsafeSysctls: ['kernel.msg*', 'net.core.somaxconn'],
  crashLoopBackOff: { maxContainerRestartPeriod: '1s' },
};
/** Its user 1000 is a member of a group in the image. */
const GROUPS_IMAGE = 'localhost/test/groups:1';
const groupsImage = busyboxImage({
  reference: GROUPS_IMAGE,
  nodeArch: process.arch,
  busybox: await readBusybox(),
  extraLayers: [
    [
      { kind: 'directory', path: 'etc' },
      { kind: 'file', path: 'etc/group', content: 'root:x:0:\nweb:x:1000:\nstaff:x:50:web\n' },
    ],
  ],
});
const fixture = agentFixture({ name: 'security', images: [groupsImage], agent: { config } });

/** Allows everything except creating directories. */
const noMkdir = {
  defaultAction: 'SCMP_ACT_ALLOW',
  syscalls: [{ names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO' }],
};
/**
 * All capabilities that root has on this machine; in a virtual machine or a container these may be fewer than the
 * kernel has.
 */
const allCapabilities = BigInt(`0x${/^CapBnd:\s*(\w+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]}`);

const secured = (name: string, securityContext: object, rest: Record<string, unknown> = {}): Record<string, unknown> =>
  container(name, { securityContext, ...rest });

interface Privileges {
  readonly capabilities: bigint;
  readonly bounding: bigint;
  readonly noNewPrivs: string | undefined;
  readonly seccomp: string | undefined;
}

/** The privileges of a container's first process according to the kernel. */
async function privilegesOf(podName: string, containerName: string): Promise<Privileges> {
  const status = await fixture.agent.inside(podName, 'cat /proc/1/status', containerName);
  const field = (name: string): string | undefined => new RegExp(`^${name}:\\s*(\\w+)`, 'm').exec(status)?.[1];
  return {
    capabilities: BigInt(`0x${field('CapEff')}`),
    bounding: BigInt(`0x${field('CapBnd')}`),
    noNewPrivs: field('NoNewPrivs'),
    seccomp: field('Seccomp'),
  };
}

describe('users and groups', SIDE_BY_SIDE, () => {
  test('come from the container, else the pod, else the image; a group may stand alone', async () => {
    const { agent } = fixture;
    const ids = (name: string, of: string): Promise<string> => agent.inside(name, 'id -u; id -g; id -G', of);
    const securityContext = { runAsUser: 700, fsGroup: 300, supplementalGroups: [400] };
    await agent.run(
      pod('who', {
        securityContext,
        containers: [container('main'), secured('own', { runAsUser: 701, runAsGroup: 801 })],
      }),
    );
    assert.deepEqual(
      [await ids('who', 'main'), await ids('who', 'own')],
      ['700\n0\n0 300 400', '701\n801\n801 300 400'],
    );
    await agent.run(pod('only-group', { securityContext: { runAsGroup: 900 } }));
    assert.equal(await ids('only-group', 'main'), '0\n900\n900');
    await agent.run(
      pod('image-user', {
        containers: [
          container('main', { image: WEB_USER_IMAGE }),
          container('root'),
          secured('grouped', { runAsGroup: 900 }),
        ],
      }),
    );
    assert.deepEqual(
      [await ids('image-user', 'main'), await ids('image-user', 'root'), await ids('image-user', 'grouped')],
      ['1000\n1000\n1000', '0\n0\n0', '0\n900\n900'],
    );
  });

  test('are looked up at each start: a restarted container never runs as another user', async () => {
    const { agent } = fixture;
    const once = {
      image: WEB_USER_IMAGE,
      command: shell('id -u; exit 3'),
      terminationMessagePolicy: 'FallbackToLogsOnError',
    };
    const names = ['main', 'numbered'];
    agent.writeManifest(
      'again',
      pod('again', {
        containers: [container('main', once), secured('numbered', { runAsUser: 1234, runAsNonRoot: true }, once)],
      }),
    );
    const seen = await agent.waitFor('again', 'restarted', (now) =>
      names.every(
        (name) =>
          (containerOf(now, name).restartCount ?? 0) >= 1 &&
          containerOf(now, name).lastState?.terminated?.message !== undefined,
      ),
    );
    assert.deepEqual(
      names.map((name) => containerOf(seen, name).lastState?.terminated?.message?.trim()),
      ['1000', '1234'],
    );
    await agent.remove('again');
  });
});

describe('rights', SIDE_BY_SIDE, () => {
  test('capabilities, seccomp and no_new_privs of each container match its security context', async () => {
    const { agent } = fixture;
    const containers = [
      container('main'),
      secured('none', {
        capabilities: { drop: ['ALL'] },
        allowPrivilegeEscalation: false,
        seccompProfile: { type: 'RuntimeDefault' },
      }),
      secured('two', { capabilities: { drop: ['ALL'], add: ['CHOWN', 'NET_BIND_SERVICE'] } }),
      secured('less', { capabilities: { drop: ['CHOWN', 'CAP_KILL'] } }),
      secured('all', { capabilities: { add: ['ALL'] } }),
      secured('user', { runAsUser: 1000 }),
      secured('privileged', { privileged: true, seccompProfile: { type: 'RuntimeDefault' } }),
    ];
    await agent.run(pod('rights', { containers }));
    const of = async (name: string): Promise<Privileges> => privilegesOf('rights', name);
    const usual = await of('main');
    assert.deepEqual([usual.noNewPrivs, usual.seccomp, usual.capabilities === allCapabilities], ['0', '0', false]);
    assert.deepEqual(await of('none'), { capabilities: 0n, bounding: 0n, noNewPrivs: '1', seccomp: '2' });
    assert.equal((await of('two')).capabilities, (1n << 0n) | (1n << 10n));
    assert.equal((await of('less')).capabilities, usual.capabilities & ~((1n << 0n) | (1n << 5n)));
    assert.equal((await of('all')).capabilities, allCapabilities);
    assert.equal((await of('user')).capabilities, 0n);
    assert.deepEqual(await of('privileged'), {
      capabilities: allCapabilities,
      bounding: allCapabilities,
      noNewPrivs: '0',
      seccomp: '0',
    });
  });

  test('a local seccomp profile blocks what it says, wherever it is named; one that is missing, or lies outside, starts nothing', async () => {
    const { agent } = fixture;
    const folder = join(agent.rootDir, 'seccomp', 'profiles');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'no-mkdir.json'), JSON.stringify(noMkdir));
    const profile = { seccompProfile: { type: 'Localhost', localhostProfile: 'profiles/no-mkdir.json' } };
    const tried = (of: string): Promise<string> =>
      agent.inside('seccomp', 'touch /tmp/f && echo file; mkdir /tmp/d 2>&1 && echo folder', of);
    const first = container('first', {
      command: shell('mkdir /tmp/d'),
      terminationMessagePolicy: 'FallbackToLogsOnError',
    });
    await agent.run(
      pod('seccomp', {
        securityContext: profile,
        containers: [container('main'), secured('free', { seccompProfile: { type: 'Unconfined' } })],
      }),
    );
    assert.match(await tried('main'), /^file\nmkdir: .*Operation not permitted$/);
    assert.equal(await tried('free'), 'file\nfolder');
    agent.writeManifest(
      'init-seccomp',
      pod('init-seccomp', { restartPolicy: 'Never', securityContext: profile, initContainers: [first] }),
    );
    const failed = await agent.phase('init-seccomp', 'Failed');
    assert.match(
      failed.status?.initContainerStatuses?.[0]?.state?.terminated?.message ?? '',
      /Operation not permitted/,
    );
    agent.writeManifest(
      'no-profile',
      pod('no-profile', {
        containers: [
          secured('main', { seccompProfile: { type: 'Localhost', localhostProfile: 'profiles/nowhere.json' } }),
        ],
      }),
    );
    const held = await agent.waitFor(
      'no-profile',
      'held back',
      (seen) => containerOf(seen).state?.waiting?.reason === 'CreateContainerError',
    );
    assert.match(containerOf(held).state?.waiting?.message ?? '', /nowhere\.json/);
    agent.writeManifest(
      'outside',
      pod('outside', {
        containers: [secured('main', { seccompProfile: { type: 'Localhost', localhostProfile: '../../etc/passwd' } })],
      }),
    );
    agent.writeManifest(
      'empty',
      pod('empty', { containers: [secured('main', { seccompProfile: { type: 'Localhost' } })] }),
    );
    await agent.remove('no-profile', 'init-seccomp');
    const refusal = /outside[^]*empty|empty[^]*outside/;
    await waitUntil(async () => refusal.test((await agent.problems()).join('\n')), 10_000, 50);
    const problems = (await agent.problems()).join('\n');
    assert.match(
      problems,
      /spec\.containers\[0\]\.securityContext\.seccompProfile\.localhostProfile: .*Invalid value: "\.\.\/\.\.\/etc\/passwd": must not contain '\.\.'/,
    );
    assert.match(
      problems,
      /spec\.containers\[0\]\.securityContext\.seccompProfile\.localhostProfile: .*Required value: must be set when seccomp type is Localhost/,
    );
    agent.removeManifest('outside', 'empty');
  });

  test('/proc and /sys are masked and read-only, but for the privileged; the root may be read-only', async () => {
    const { agent } = fixture;
    const look =
      'echo x 2>&1 > /proc/sys/kernel/domainname | grep -o "Read-only.*"; ls /proc/acpi /proc/scsi 2>/dev/null | grep -vc ":\\|^$"; head -c1 /proc/timer_list 2>/dev/null | wc -c; grep -c " /sys sysfs ro" /proc/mounts; touch /x 2>&1; touch /v/x && echo volume';
    const volumeMounts = [{ name: 'v', mountPath: '/v' }];
    const containers = [
      container('main', { volumeMounts }),
      secured('readonly', { readOnlyRootFilesystem: true }, { volumeMounts }),
      secured('privileged', { privileged: true }),
    ];
    await agent.run(pod('masked', { containers, volumes: [{ name: 'v', emptyDir: {} }] }));
    const masked = 'Read-only file system\n0\n0\n1\n';
    assert.equal(
      await agent.inside('masked', `(${look}) 2>&1 | sed "s/.*: Read-only/Read-only/"`, 'main'),
      `${masked}volume`,
    );
    assert.equal(
      await agent.inside('masked', `(${look}) 2>&1 | sed "s/.*: Read-only/Read-only/"`, 'readonly'),
      `${masked}Read-only file system\nvolume`,
    );
    const covered = async (of: string): Promise<number> =>
      Number(await agent.inside('masked', 'grep -c " /proc/" /proc/mounts || true', of));
    assert.deepEqual([(await covered('main')) > 5, await covered('privileged')], [true, 0]);
  });
});

describe('namespaces', SIDE_BY_SIDE, () => {
  test("of the host's, only the one asked for is shared", async () => {
    const { agent } = fixture;
    const link = async (name: string, kind: string): Promise<string> =>
      agent.inside(name, `readlink /proc/self/ns/${kind}`);
    const cases = { hostPID: 'pid', hostIPC: 'ipc', hostNetwork: 'net' };
    await Promise.all(
      Object.keys(cases).map((field) => agent.run(pod(`only-${field.toLowerCase()}`, { [field]: true }))),
    );
    for (const [field, shared] of Object.entries(cases)) {
      for (const kind of ['pid', 'ipc', 'net', 'uts', 'mnt']) {
        const same = (await link(`only-${field.toLowerCase()}`, kind)) === readlinkSync(`/proc/self/ns/${kind}`);
        // On the host's network the host keeps its name, too.
        assert.equal(same, kind === shared || (shared === 'net' && kind === 'uts'), `${field}: ${kind}`);
      }
    }
  });

  test("containers see each other's processes only where the pod shares them", async () => {
    const { agent } = fixture;
    const other = container('other', { command: thenSleep('sleep 4321 &') });
    await Promise.all([
      agent.run(pod('apart', { containers: [container('main'), other] })),
      agent.run(pod('together', { shareProcessNamespace: true, containers: [container('main'), other] })),
    ]);
    const marked = async (name: string): Promise<string> =>
      agent.inside(name, 'cat /proc/[0-9]*/cmdline 2>/dev/null | tr "\\0" " " | grep -c "sleep [4]321" || true');
    assert.deepEqual([await marked('apart'), (await marked('together')) !== '0'], ['0', true]);
    assert.match(await agent.inside('together', 'cat /proc/1/cmdline'), /pause/);
  });
});

describe('seccompDefault', () => {
  test('gives the profile of the runtime to what names none, after a restart of the agent with it too; what runs is left alone', async () => {
    const { agent } = fixture;
    const seccomp = async (name: string, of = 'main'): Promise<string | undefined> =>
      (await privilegesOf(name, of)).seccomp;
    const before = containerId(await agent.run(pod('before-default')));
    agent.writeConfig({ ...config, seccompDefault: true });
    await agent.restart();
    await agent.run(
      pod('with-default', {
        containers: [container('main'), secured('unconfined', { seccompProfile: { type: 'Unconfined' } })],
      }),
    );
    assert.deepEqual(
      [await seccomp('with-default'), await seccomp('with-default', 'unconfined'), await seccomp('before-default')],
      ['2', '0', '0'],
    );
    assert.equal(containerId(agent.pod('before-default')), before);
    agent.writeConfig(config);
    await agent.restart();
  });
});

describe('sysctls', SIDE_BY_SIDE, () => {
  test('safe ones and those the operator allows are set in the pod and not on the host, in either form', async () => {
    const { agent } = fixture;
    const wanted = {
      'net.ipv4.ip_local_port_range': '2000 3000',
      'kernel/shm_rmid_forced': '1',
      'net.ipv4.ip_unprivileged_port_start': '80',
      'kernel.msgmax': '65530',
      'net/core/somaxconn': '333',
    };
    const paths = Object.keys(wanted).map((name) => `/proc/sys/${name.replaceAll('.', '/')}`);
    const host = paths.map((path) => readFileSync(path, 'utf8'));
    await agent.run(
      pod('sysctls', {
        securityContext: { sysctls: Object.entries(wanted).map(([name, value]) => ({ name, value })) },
      }),
    );
    assert.equal(
      await agent.inside('sysctls', `cat ${paths.join(' ')} | tr "\\t" " "`),
      Object.values(wanted).join('\n'),
    );
    assert.deepEqual(
      paths.map((path) => readFileSync(path, 'utf8')),
      host,
    );
  });

  test('any other keeps the pod from running, with the reason of upstream', async () => {
    const { agent } = fixture;
    const one = (name: string, sysctl: string, spec: object = {}): void =>
      agent.writeManifest(name, pod(name, { ...spec, securityContext: { sysctls: [{ name: sysctl, value: '1' }] } }));
    one('unsafe', 'kernel/shmmax');
    one('of-the-host', 'vm.swappiness');
    const refused = await Promise.all(['unsafe', 'of-the-host'].map((name) => agent.phase(name, 'Failed')));
    assert.deepEqual(
      refused.map(({ status }) => [status?.reason, status?.message]),
      [
        ['SysctlForbidden', 'Pod was rejected: forbidden sysctl: "kernel.shmmax" not allowlisted'],
        ['SysctlForbidden', 'Pod was rejected: forbidden sysctl: "vm.swappiness" not allowlisted'],
      ],
    );
    await agent.remove('unsafe', 'of-the-host');
  });
});

describe('settings that depend on the node', SIDE_BY_SIDE, () => {
  test('an AppArmor profile needs a kernel with AppArmor, and one of its own needs to be loaded', async () => {
    const { agent } = fixture;
    const enabled = '/sys/module/apparmor/parameters/enabled';
    const hasAppArmor =
      existsSync('/sys/kernel/security/apparmor') &&
      existsSync(enabled) &&
      readFileSync(enabled, 'utf8').startsWith('Y');
    const one = (name: string, appArmorProfile: object): void =>
      agent.writeManifest(name, pod(name, { containers: [secured('main', { appArmorProfile })] }));
    one('apparmor', { type: 'Localhost', localhostProfile: 'not-loaded' });
    one('apparmor-free', { type: 'Unconfined' });
    await agent.ready('apparmor-free');
    if (hasAppArmor) {
      const held = await agent.waitFor(
        'apparmor',
        'held back',
        (seen) => containerOf(seen).state?.waiting?.reason === 'CreateContainerError',
      );
      assert.match(containerOf(held).state?.waiting?.message ?? '', /not-loaded/);
    } else {
      const { status } = await agent.phase('apparmor', 'Failed');
      assert.deepEqual(
        [status?.reason, status?.message],
        ['AppArmor', 'Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host'],
      );
    }
    await agent.remove('apparmor', 'apparmor-free');
  });

  test("groups of the image's own list come with Merge and not with Strict, which needs a runtime that knows it", async () => {
    const { agent, containerd } = fixture;
    const { features } = await containerd.cri.runtime.status({});
    const grouped = (name: string, rest: object): PodManifest =>
      pod(name, {
        securityContext: { runAsUser: 1000, supplementalGroups: [400], ...rest },
        containers: [container('main', { image: GROUPS_IMAGE })],
      });
    agent.writeManifest('strict', grouped('strict', { supplementalGroupsPolicy: 'Strict' }));
    agent.writeManifest('merged', grouped('merged', { supplementalGroupsPolicy: 'Merge' }));
    agent.writeManifest('unsaid', grouped('unsaid', {}));
    await Promise.all([agent.ready('merged'), agent.ready('unsaid')]);
    assert.deepEqual(
      [await agent.inside('merged', 'id -G'), await agent.inside('unsaid', 'id -G')],
      ['1000 50 400', '1000 50 400'],
    );
    if (features?.supplementalGroupsPolicy === true) {
      await agent.ready('strict');
      assert.equal(await agent.inside('strict', 'id -G'), '1000 400');
      // Such a runtime also reports users.
      const user = (name: string): unknown => containerOf(agent.pod(name)).user?.linux;
      assert.deepEqual(
        [user('strict'), user('merged')],
        [
          { uid: 1000, gid: 1000, supplementalGroups: [400, 1000] },
          { uid: 1000, gid: 1000, supplementalGroups: [50, 400, 1000] },
        ],
      );
    } else {
      const { status } = await agent.phase('strict', 'Failed');
      assert.deepEqual(
        [status?.reason, status?.message],
        [
          'SupplementalGroupsPolicyNotSupported',
          'Pod was rejected: SupplementalGroupsPolicy=Strict is not supported in this node',
        ],
      );
      assert.equal(containerOf(agent.pod('merged')).user, undefined);
    }
    await agent.remove('strict', 'merged', 'unsaid');
  });

  test('containers of Windows do not run here', async () => {
    const { agent } = fixture;
    agent.writeManifest('windows', pod('windows', { os: { name: 'windows' } }));
    const { status } = await agent.phase('windows', 'Failed');
    assert.deepEqual(
      [status?.reason, status?.message],
      ['PodOSNotSupported', "Pod was rejected: Failed to admit pod as the OS field doesn't match node OS"],
    );
    await agent.run(pod('linux', { os: { name: 'linux' } }));
    await agent.remove('windows', 'linux');
  });
});
