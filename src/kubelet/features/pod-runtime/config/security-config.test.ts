import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Container } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { SeccompProfile, SecurityContext } from '../../../../api/core/security-context.ts';
import { containerId } from '../../../model/ids.ts';
import type { SandboxConfig } from '../../../ports/runtime.ts';
import type { PodPlacement } from './node-facts.ts';
import type { SecurityFacts } from './security-config.ts';
import { containerSecurity, sandboxSecurity } from './security-config.ts';
import { aContainer, anEphemeral, aPod } from '../testing/builders.ts';
import { testNode, testSettings } from '../testing/harness.ts';

const placement: PodPlacement = { cgroupParent: '/kubepods/pod' };
type Security = ReturnType<typeof containerSecurity>;

const security = (pod: Pod, container: Container, facts: Partial<SecurityFacts> = {}): Security =>
  containerSecurity(pod, container, {
    settings: testSettings,
    node: testNode,
    placement,
    imageUser: { username: '' },
    ...facts,
  });
const own = (securityContext: SecurityContext): Container => aContainer('app', { securityContext });
const sandbox = (pod: Pod, more: Partial<PodPlacement> = {}): SandboxConfig['security'] =>
  sandboxSecurity(pod, { ...placement, ...more });
const where = '(pod: "web_default(uid-1)", container: app)';

describe('users and groups', () => {
  test("the container's settings override the pod's, and unset ones weaken nothing", () => {
    const pod = aPod({
      securityContext: {
        runAsUser: 1,
        runAsGroup: 2,
        fsGroup: 3,
        supplementalGroups: [4],
        seccompProfile: { type: 'RuntimeDefault' },
      },
      shareProcessNamespace: true,
    });
    const got = security(pod, own({ runAsUser: 9, allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } }));
    assert.deepEqual(
      [
        got.runAsUser,
        got.runAsGroup,
        got.supplementalGroups,
        got.noNewPrivs,
        got.capabilities,
        got.seccomp,
        got.namespaces,
        got.privileged,
        got.maskedPaths.length,
        got.readonlyPaths.length,
      ],
      [
        9,
        2,
        [3, 4],
        true,
        { add: [], drop: ['ALL'] },
        { type: 'RuntimeDefault' },
        { network: 'pod', pid: 'pod', ipc: 'pod', userns: { mode: 'node' } },
        false,
        12,
        5,
      ],
    );
  });

  test("groups of volumes come after the container's own and before those of the sandbox, each once", () => {
    const pod = aPod({
      securityContext: { fsGroup: 3, supplementalGroups: [4, 5], supplementalGroupsPolicy: 'Strict' },
    });
    const got = security(pod, aContainer('app'), { placement: { extraGroups: [9, 5] } });
    const ofSandbox = sandbox(pod, { extraGroups: [9, 5] });
    assert.deepEqual(
      [
        got.supplementalGroups,
        got.supplementalGroupsPolicy,
        ofSandbox.supplementalGroups,
        ofSandbox.supplementalGroupsPolicy,
      ],
      [[3, 4, 5, 9], 'Strict', [3, 9, 4, 5], 'Strict'],
    );
  });

  test('the user comes from the image when none is set, root when the image names none; a group alone is kept', () => {
    assert.deepEqual(
      [
        security(aPod(), aContainer('app'), { imageUser: { uid: 7, username: '' } }).runAsUser,
        security(aPod(), aContainer('app'), { imageUser: { username: 'www' } }).runAsUsername,
        security(aPod(), aContainer('app')).runAsUser,
      ],
      [7, 'www', 0],
    );
    const grouped = security(aPod({ securityContext: { runAsGroup: 5 } }), aContainer('app'));
    assert.deepEqual([grouped.runAsUser, grouped.runAsGroup], [0, 5]);
    const named = security(aPod({ securityContext: { runAsGroup: 5 } }), aContainer('app'), {
      imageUser: { username: 'www' },
    });
    assert.deepEqual([named.runAsUser, named.runAsUsername, named.runAsGroup], [undefined, 'www', 5]);
  });

  test('the sandbox gets no group without a user, which runtimes refuse', () => {
    const groups = (securityContext: Pod['spec']['securityContext']): unknown[] => {
      const { runAsUser, runAsGroup } = sandbox(aPod({ securityContext }));
      return [runAsUser, runAsGroup];
    };
    assert.deepEqual(
      [groups({ runAsGroup: 5 }), groups({ runAsUser: 4, runAsGroup: 5 })],
      [
        [undefined, undefined],
        [4, 5],
      ],
    );
  });

  test('capabilities are dropped by the name that the runtime knows, and added only by that', () => {
    assert.deepEqual(
      security(aPod(), own({ capabilities: { add: ['CAP_CHOWN', 'KILL'], drop: ['CAP_NET_RAW', 'cap_kill', 'ALL'] } }))
        .capabilities,
      { add: ['CAP_CHOWN', 'KILL'], drop: ['NET_RAW', 'kill', 'ALL'] },
    );
    assert.deepEqual(
      [security(aPod(), own({ capabilities: {} })).capabilities, security(aPod(), own({})).capabilities],
      [{ add: [], drop: [] }, undefined],
    );
  });

  test("a null is unset: it neither hides the pod's setting nor counts as 0", () => {
    const nothing = {
      runAsUser: null,
      runAsGroup: null,
      runAsNonRoot: null,
      seLinuxOptions: null,
    } as unknown as SecurityContext;
    const got = security(aPod({ securityContext: { runAsUser: 5, runAsGroup: 6 } }), own(nothing));
    assert.deepEqual([got.runAsUser, got.runAsGroup], [5, 6]);
    const bare = sandbox(aPod({ securityContext: nothing as Pod['spec']['securityContext'] }));
    assert.deepEqual([bare.runAsUser, bare.runAsGroup, bare.selinux], [undefined, undefined, undefined]);
  });

  test('an unknown policy is refused', () => {
    const pod = aPod({ securityContext: { supplementalGroupsPolicy: 'Tight' as 'Strict' } });
    assert.throws(() => security(pod, aContainer('app')), { message: 'unsupported supplementalGroupsPolicy: Tight' });
    assert.throws(() => sandbox(pod), { message: 'unsupported supplementalGroupsPolicy: Tight' });
  });
});

describe('runAsNonRoot', () => {
  const nonRoot = aPod({ securityContext: { runAsNonRoot: true } });

  test('refuses root, user names, and what cannot be verified', () => {
    const image = (uid: number | undefined, username = ''): Partial<SecurityFacts> => ({
      imageUser: { uid, username },
    });
    assert.throws(() => security(nonRoot, own({ runAsUser: 0 })), {
      message: `container's runAsUser breaks non-root policy ${where}`,
    });
    assert.throws(() => security(nonRoot, aContainer('app'), image(undefined, 'www')), {
      message: `container has runAsNonRoot and image has non-numeric user (www), cannot verify user is non-root ${where}`,
    });
    assert.throws(() => security(nonRoot, aContainer('app'), image(0)), {
      message: `container has runAsNonRoot and image will run as root ${where}`,
    });
    assert.throws(() => security(nonRoot, aContainer('app'), image(undefined)), {
      message: `container has runAsNonRoot and image will run as root ${where}`,
    });
    assert.throws(() => security(nonRoot, aContainer('app'), image(2 ** 31)), {
      message: `container has runAsNonRoot and image has an invalid user id (2147483648). (Must be 1-(2147483647)): must be between 0 and 2147483647, inclusive ${where}`,
    });
    assert.equal(security(nonRoot, aContainer('app'), image(1000)).runAsUser, 1000);
    assert.equal(security(nonRoot, own({ runAsUser: 1 }), image(undefined, 'root')).runAsUser, 1);
  });

  test('a container may lift it for itself, or be the only one restricted, of whatever kind it is', () => {
    assert.equal(security(nonRoot, own({ runAsNonRoot: false })).runAsUser, 0);
    for (const container of [
      own({ runAsNonRoot: true }),
      anEphemeral('app', { securityContext: { runAsNonRoot: true } }),
    ])
      assert.throws(() => security(aPod(), container as Container), { kind: 'Invalid' });
  });

  test('is checked again at every start: an image that changed to root is refused (CVE-2019-11245)', () => {
    assert.equal(security(nonRoot, aContainer('app'), { imageUser: { uid: 1000, username: '' } }).runAsUser, 1000);
    assert.throws(
      () => security(nonRoot, aContainer('app'), { imageUser: { uid: 0, username: '' } }),
      /will run as root/,
    );
  });
});

describe('profiles', () => {
  const seccomp = (profile: SeccompProfile | undefined, seccompDefault = false): Security['seccomp'] =>
    security(aPod(), own({ seccompProfile: profile }), { settings: { ...testSettings, seccompDefault } }).seccomp;

  test('without a seccomp profile it is Unconfined, or the value of seccompDefault; the sandbox always has the default', () => {
    assert.deepEqual(
      [
        seccomp(undefined),
        seccomp(undefined, true),
        seccomp({ type: 'Unconfined' }, true),
        seccomp({ type: 'RuntimeDefault' }),
      ],
      [{ type: 'Unconfined' }, { type: 'RuntimeDefault' }, { type: 'Unconfined' }, { type: 'RuntimeDefault' }],
    );
    assert.deepEqual(sandbox(aPod({ securityContext: { seccompProfile: { type: 'Unconfined' } } })).seccomp, {
      type: 'RuntimeDefault',
    });
  });

  test('a local profile is a file below the seccomp folder, and nothing else', () => {
    const local = (localhostProfile?: string): SeccompProfile => ({ type: 'Localhost', localhostProfile });
    for (const name of ['p/x.json', './p//x.json'])
      assert.deepEqual(seccomp(local(name)), { type: 'Localhost', localhostRef: '/var/lib/kubelet/seccomp/p/x.json' });
    for (const empty of [undefined, '', '.', './'])
      assert.throws(() => seccomp(local(empty), true), {
        message: 'localhostProfile must be set if seccompProfile type is Localhost.',
      });
    for (const bad of ['../x', '/etc/x', 'a/../../x', 'a/..'])
      assert.throws(() => seccomp(local(bad)), { kind: 'Invalid' }, bad);
  });

  test('an unknown type is refused rather than treated as none', () => {
    for (const type of ['', 'unconfined', 'Docker'] as unknown as SeccompProfile['type'][]) {
      assert.throws(() => seccomp({ type }), { kind: 'Invalid' });
      assert.throws(() => security(aPod(), own({ appArmorProfile: { type } })), { kind: 'Invalid' });
    }
  });

  test('the old annotations do not affect seccomp', () => {
    const pod = aPod(
      {},
      {
        annotations: {
          'seccomp.security.alpha.kubernetes.io/pod': 'unconfined',
          'container.seccomp.security.alpha.kubernetes.io/app': 'unconfined',
        },
      },
    );
    assert.deepEqual(
      security(pod, aContainer('app'), { settings: { ...testSettings, seccompDefault: true } }).seccomp,
      { type: 'RuntimeDefault' },
    );
  });

  test('AppArmor: none leaves it to the runtime; a local profile needs a name', () => {
    const apparmor = (pod: Pod, context: SecurityContext = {}): Security['apparmor'] =>
      security(pod, own(context)).apparmor;
    assert.equal(apparmor(aPod()), undefined);
    assert.deepEqual(
      apparmor(aPod({ securityContext: { appArmorProfile: { type: 'Localhost', localhostProfile: 'p' } } })),
      { type: 'Localhost', localhostRef: 'p' },
    );
    assert.deepEqual(
      apparmor(aPod({ securityContext: { appArmorProfile: { type: 'RuntimeDefault' } } }), {
        appArmorProfile: { type: 'Unconfined' },
      }),
      { type: 'Unconfined' },
    );
    for (const localhostProfile of [undefined, '', '  '])
      assert.throws(() => apparmor(aPod(), { appArmorProfile: { type: 'Localhost', localhostProfile } }), {
        message: 'missing localhost apparmor profile name',
      });
  });

  test("SELinux labels of a container replace the pod's as a whole", () => {
    const pod = aPod({ securityContext: { seLinuxOptions: { type: 'spc_t', level: 's0:c1,c2' } } });
    assert.deepEqual(
      [
        security(pod, aContainer('app')).selinux,
        security(pod, own({ seLinuxOptions: { level: 's0:c3' } })).selinux,
        sandbox(pod).selinux,
      ],
      [
        { user: '', role: '', type: 'spc_t', level: 's0:c1,c2' },
        { user: '', role: '', type: '', level: 's0:c3' },
        { user: '', role: '', type: 'spc_t', level: 's0:c1,c2' },
      ],
    );
  });
});

describe('paths and namespaces', () => {
  test('/proc is masked unless the exact value asks for otherwise', () => {
    const masked = (procMount: SecurityContext['procMount']): number[] => {
      const { maskedPaths, readonlyPaths } = security(aPod({ hostUsers: false }), own({ procMount }), {
        placement: { userns: { mode: 'pod', hostId: 65536, length: 65536 } },
      });
      return [maskedPaths.length, readonlyPaths.length];
    };
    assert.deepEqual(
      [masked(undefined), masked('Default'), masked('unmasked' as 'Default'), masked('Unmasked')],
      [
        [12, 5],
        [12, 5],
        [12, 5],
        [0, 0],
      ],
    );
    const node = { ...testNode, thermalThrottlePaths: ['/sys/devices/system/cpu/cpu0/thermal_throttle'] };
    assert.equal(
      security(aPod(), aContainer('app'), { node }).maskedPaths.at(-1),
      '/sys/devices/system/cpu/cpu0/thermal_throttle',
    );
  });

  test('each namespace of the host is shared only when asked for, and the PID namespace of the pod only when that of the host is not', () => {
    const of = (spec: Partial<Pod['spec']>): unknown[] => {
      const { network, pid, ipc } = security(aPod(spec), aContainer('app')).namespaces;
      return [network, pid, ipc];
    };
    assert.deepEqual(
      [
        of({}),
        of({ hostNetwork: true }),
        of({ hostPID: true }),
        of({ hostIPC: true }),
        of({ shareProcessNamespace: true }),
        of({ hostPID: true, shareProcessNamespace: true }),
      ],
      [
        ['pod', 'container', 'pod'],
        ['node', 'container', 'pod'],
        ['pod', 'node', 'pod'],
        ['pod', 'container', 'node'],
        ['pod', 'pod', 'pod'],
        ['pod', 'node', 'pod'],
      ],
    );
  });

  test('an ephemeral container shares the processes of its target, unless it shares those of the pod or the host anyway', () => {
    const target = (spec: Partial<Pod['spec']>): unknown[] => {
      const { pid, targetId } = security(aPod(spec), aContainer('app'), { targetId: containerId('c1') }).namespaces;
      return [pid, targetId];
    };
    assert.deepEqual(
      [target({}), target({ shareProcessNamespace: true }), target({ hostPID: true })],
      [
        ['target', 'c1'],
        ['pod', undefined],
        ['node', undefined],
      ],
    );
  });

  test('a user namespace reaches the sandbox and the container, and a pod that asks for one never runs without', () => {
    const userns = { mode: 'pod', hostId: 65536, length: 65536 } as const;
    const pod = aPod({ hostUsers: false });
    assert.deepEqual(
      [
        security(pod, aContainer('app'), { placement: { userns } }).namespaces.userns,
        sandbox(pod, { userns }).namespaces.userns,
        sandbox(aPod(), { userns }).namespaces.userns,
      ],
      [userns, userns, { mode: 'node' }],
    );
    const message = "can't set `spec.hostUsers: false`, runtime does not support user namespaces";
    assert.throws(() => security(pod, aContainer('app')), { message });
    assert.throws(() => sandbox(pod, { userns: { mode: 'node' } }), { message });
  });

  test('the sandbox is privileged when any container is, of whichever kind (CVE-2023-2727: no kind is skipped)', () => {
    const privileged = { securityContext: { privileged: true } };
    const pods = [
      aPod(),
      aPod({ containers: [aContainer('app', privileged)] }),
      aPod({ initContainers: [aContainer('i1', privileged)] }),
      aPod({ ephemeralContainers: [anEphemeral('debug', privileged)] }),
    ];
    assert.deepEqual(
      pods.map((pod) => sandbox(pod).privileged),
      [false, true, true, true],
    );
  });
});
