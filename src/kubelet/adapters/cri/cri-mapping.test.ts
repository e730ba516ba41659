import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { KubeletError } from '../../../base/errors.ts';
import {
  Container,
  ContainerEventResponse,
  ContainerStatus,
  Image,
  MountPropagation,
  NamespaceMode,
  PodSandbox,
  PodSandboxConfig,
  PodSandboxStatus,
  Protocol,
  ContainerConfig as CriContainerConfig,
  SecurityProfile_ProfileType,
  Signal,
  StatusResponse,
  SupplementalGroupsPolicy,
} from '../../../cri/generated/cri-v1.ts';
import { podUid } from '../../model/ids.ts';
import type { ContainerConfig, LinuxResources, SandboxConfig } from '../../ports/runtime.ts';
import { buildContainerConfig, buildSandboxConfig } from '../../ports/testing/runtime-builders.ts';
import {
  clampedNumber,
  containerFromCri,
  eventFromCri,
  healthFromCri,
  imageFromCri,
  listedFromCri,
  listedSandboxFromCri,
  msFromNanos,
  sandboxFromCri,
} from './cri-mapping-read.ts';
import { toContainerConfig, toResources, toSandboxConfig } from './cri-mapping-write.ts';

const LABELS = {
  'io.kubernetes.pod.uid': 'u',
  'io.kubernetes.pod.name': 'p',
  'io.kubernetes.pod.namespace': 'n',
  'io.kubernetes.container.name': 'main',
};

test("nanoseconds become whole milliseconds, and Go's zero time becomes none", () => {
  assert.deepEqual(
    [msFromNanos(1_795_231_626_636_123_456n), msFromNanos(0n), msFromNanos(-6_795_364_578_871_345_152n)],
    [1_795_231_626_636, 0, 0],
  );
});

test('64-bit numbers are limited to what JavaScript represents exactly', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n }),
      (value) =>
        Number.isSafeInteger(clampedNumber(value)) &&
        (Math.abs(Number(value)) > Number.MAX_SAFE_INTEGER || BigInt(clampedNumber(value)) === value),
    ),
  );
});

test("a container's status is converted completely", () => {
  const status = ContainerStatus.fromPartial({
    id: 'c',
    metadata: { name: 'k8s_main', attempt: 3 },
    state: 2,
    createdAt: 1_000_000n,
    startedAt: 2_000_000n,
    finishedAt: 3_000_000n,
    exitCode: 137,
    reason: 'OOMKilled',
    message: 'm',
    image: { image: 'sha256:i', userSpecifiedImage: 'app:1' },
    imageRef: 'app@sha256:d',
    labels: LABELS,
    annotations: { a: 'b' },
    logPath: '/l',
    mounts: [{ containerPath: '/c', hostPath: '/h', readonly: true, recursiveReadOnly: true }],
    resources: { linux: { cpuPeriod: 100_000n, cpuQuota: -1n, cpuShares: 2n, memoryLimitInBytes: 64n } },
    user: { linux: { uid: 5n, gid: 6n, supplementalGroups: [7n] } },
  });
  assert.deepEqual(containerFromCri(status, 's'), {
    id: 'c',
    sandboxId: 's',
    name: 'main',
    attempt: 3,
    state: 'exited',
    createdAtMs: 1,
    startedAtMs: 2,
    finishedAtMs: 3,
    exitCode: 137,
    reason: 'OOMKilled',
    message: 'm',
    image: 'app:1',
    imageRef: 'app@sha256:d',
    imageId: 'app@sha256:d',
    logPath: '/l',
    labels: LABELS,
    annotations: { a: 'b' },
    mounts: [{ containerPath: '/c', hostPath: '/h', readOnly: true, recursiveReadOnly: true }],
    resources: { cpuPeriod: 100_000, cpuQuota: -1, cpuShares: 2, memoryLimitBytes: 64 },
    user: { uid: 5, gid: 6, supplementalGroups: [7] },
  });
});

test('a state that CRI does not have yet is unknown', () => {
  assert.equal(containerFromCri(ContainerStatus.fromPartial({ state: 17 as never }), '').state, 'unknown');
});

test('lists name the pod by its labels; without labels there is no pod', () => {
  const container = listedFromCri(
    Container.fromPartial({ id: 'c', podSandboxId: 's', state: 1, labels: LABELS, imageRef: 'r' }),
  );
  assert.deepEqual(
    [container.podUid, container.podName, container.podNamespace, container.name, container.state, container.imageId],
    ['u', 'p', 'n', 'main', 'running', 'r'],
  );
  assert.equal(listedFromCri(Container.fromPartial({ id: 'c', metadata: { name: 'by-hand' } })).podUid, '');
  const sandbox = listedSandboxFromCri(
    PodSandbox.fromPartial({ id: 's', metadata: { name: 'by-hand', uid: 'made-up' }, state: 1 }),
  );
  assert.deepEqual([sandbox.podUid, sandbox.podName, sandbox.ready], ['', 'by-hand', false]);
});

test("a sandbox has all its addresses, or none on the host's network", () => {
  const network = { ip: '10.0.0.1', additionalIps: [{ ip: 'fd00::1' }] };
  assert.deepEqual(sandboxFromCri(PodSandboxStatus.fromPartial({ network })).ips, ['10.0.0.1', 'fd00::1']);
  const onHost = sandboxFromCri(
    PodSandboxStatus.fromPartial({ network, linux: { namespaces: { options: { network: NamespaceMode.NODE } } } }),
  );
  assert.deepEqual([onHost.ips, onHost.hostNetwork], [[], true]);
  assert.deepEqual(sandboxFromCri(PodSandboxStatus.fromPartial({ network: { ip: '' } })).ips, []);
});

test('addresses of a sandbox are read in whatever form the runtime writes them; one invalid address makes all unusable', () => {
  const ips = (ip: string, ...others: string[]): unknown => {
    const { ips: found, isAddressUnreadable } = sandboxFromCri(
      PodSandboxStatus.fromPartial({ network: { ip, additionalIps: others.map((other) => ({ ip: other })) } }),
    );
    return isAddressUnreadable === undefined ? found : [...found, 'unreadable'];
  };
  assert.deepEqual(ips('010.000.000.001', 'fd01:0:0:0:0:0:0:1234'), ['10.0.0.1', 'fd01::1234']);
  assert.deepEqual(ips('::ffff:10.0.0.1'), ['10.0.0.1']);
  assert.deepEqual([ips('10.0.0.1', 'none'), ips('none')], [['unreadable'], ['unreadable']]);
});

test('a sandbox contains the host ids its users are mapped to', () => {
  const userns = (mode: NamespaceMode): unknown =>
    sandboxFromCri(
      PodSandboxStatus.fromPartial({
        linux: {
          namespaces: {
            options: { usernsOptions: { mode, uids: [{ hostId: 65536, containerId: 0, length: 65536 }] } },
          },
        },
      }),
    ).userns;
  assert.deepEqual(
    [
      userns(NamespaceMode.POD),
      userns(NamespaceMode.NODE),
      'userns' in sandboxFromCri(PodSandboxStatus.fromPartial({})),
    ],
    [{ hostId: 65536, length: 65536 }, undefined, false],
  );
});

test('a condition the runtime does not report is not met', () => {
  const health = healthFromCri(
    StatusResponse.fromPartial({ status: { conditions: [{ type: 'RuntimeReady', status: true }] } }),
  );
  assert.deepEqual(
    [health.runtimeReady.ok, health.networkReady],
    [true, { ok: false, reason: '', message: 'the runtime reports no NetworkReady condition' }],
  );
});

test("an image's uid 0 differs from no uid", () => {
  assert.deepEqual(
    [imageFromCri(Image.fromPartial({ uid: { value: 0n } })).uid, imageFromCri(Image.fromPartial({})).uid],
    [0, undefined],
  );
});

test('a stop signal is read by its name, and absent where the runtime does not report it', () => {
  const signalOf = (stopSignal?: Signal): string | undefined =>
    containerFromCri(ContainerStatus.fromPartial({ id: 'c', labels: LABELS, stopSignal }), 's').stopSignal;
  assert.deepEqual([signalOf(Signal.SIGUSR1), signalOf(Signal.SIGTERM), signalOf()], ['SIGUSR1', 'SIGTERM', undefined]);
});

test('a CRI event contains the pod, and one of an unknown kind is ignored', () => {
  const event = eventFromCri(
    ContainerEventResponse.fromPartial({
      containerId: 'c',
      containerEventType: 2,
      createdAt: 5_000_000n,
      podSandboxStatus: { id: 's', labels: LABELS },
      containersStatuses: [{ id: 'c', state: 2 }],
    }),
  );
  assert.deepEqual(
    [event?.kind, event?.id, event?.atMs, event?.podUid, event?.pod?.containers[0]?.sandboxId],
    ['stopped', 'c', 5, 'u', 's'],
  );
  assert.equal(eventFromCri(ContainerEventResponse.fromPartial({ containerEventType: 9 as never })), undefined);
});

/** Each field has a unique value, so that a missing or swapped field is noticed. */
const everyResource: LinuxResources = {
  cpuShares: 10,
  cpuQuota: 1500.7,
  cpuPeriod: 100_000,
  memoryLimitBytes: 64 * 2 ** 20,
  memorySwapLimitBytes: 65 * 2 ** 20,
  oomScoreAdj: -997,
  cpusetCpus: '0-1',
  cpusetMems: '0',
  hugepageLimits: [{ pageSize: '2MB', limitBytes: 4.5 }],
  unified: { 'memory.oom.group': '1' },
};
const everyResourceSent = {
  cpuShares: 10n,
  cpuQuota: 1500n,
  cpuPeriod: 100_000n,
  memoryLimitInBytes: 67_108_864n,
  memorySwapLimitInBytes: 68_157_440n,
  oomScoreAdj: -997n,
  cpusetCpus: '0-1',
  cpusetMems: '0',
  hugepageLimits: [{ pageSize: '2MB', limit: 4n }],
  unified: { 'memory.oom.group': '1' },
};
const selinux = { user: 'u', role: 'r', type: 't', level: 's0' };

test('a sandbox configuration is sent completely', () => {
  const config: SandboxConfig = {
    name: 'p',
    namespace: 'n',
    uid: podUid('u'),
    attempt: 2,
    hostname: 'h',
    logDirectory: '/logs',
    dns: { servers: ['1.1.1.1'], searches: ['s'], options: ['ndots:5'] },
    portMappings: [{ protocol: 'UDP', containerPort: 53, hostPort: 5353, hostIp: '127.0.0.1' }],
    labels: { l: '1' },
    annotations: { a: '2' },
    cgroupParent: '/kubepods/podu',
    sysctls: { 'net.core.somaxconn': '1' },
    overhead: { cpuShares: 3 },
    resources: everyResource,
    security: {
      namespaces: { network: 'node', pid: 'container', ipc: 'pod', userns: { mode: 'pod', hostId: 65_536, length: 7 } },
      runAsUser: 0,
      runAsGroup: 8,
      supplementalGroups: [1, 2],
      supplementalGroupsPolicy: 'Strict',
      privileged: true,
      readOnlyRootFilesystem: true,
      seccomp: { type: 'Localhost', localhostRef: '/x.json' },
      apparmor: { type: 'Unconfined' },
      selinux,
    },
  };
  const users = [{ hostId: 65_536, containerId: 0, length: 7 }];
  assert.deepEqual(
    PodSandboxConfig.fromPartial(toSandboxConfig(config)),
    PodSandboxConfig.fromPartial({
      metadata: { name: 'p', namespace: 'n', uid: 'u', attempt: 2 },
      hostname: 'h',
      logDirectory: '/logs',
      dnsConfig: { servers: ['1.1.1.1'], searches: ['s'], options: ['ndots:5'] },
      portMappings: [{ protocol: Protocol.UDP, containerPort: 53, hostPort: 5353, hostIp: '127.0.0.1' }],
      labels: { l: '1' },
      annotations: { a: '2' },
      linux: {
        cgroupParent: '/kubepods/podu',
        sysctls: { 'net.core.somaxconn': '1' },
        overhead: { cpuShares: 3n },
        resources: everyResourceSent,
        securityContext: {
          namespaceOptions: {
            network: NamespaceMode.NODE,
            pid: NamespaceMode.CONTAINER,
            ipc: NamespaceMode.POD,
            usernsOptions: { mode: NamespaceMode.POD, uids: users, gids: users },
          },
          selinuxOptions: selinux,
          runAsUser: { value: 0n },
          runAsGroup: { value: 8n },
          readonlyRootfs: true,
          supplementalGroups: [1n, 2n],
          supplementalGroupsPolicy: SupplementalGroupsPolicy.Strict,
          privileged: true,
          seccomp: { profileType: SecurityProfile_ProfileType.Localhost, localhostRef: '/x.json' },
          apparmor: { profileType: SecurityProfile_ProfileType.Unconfined },
        },
      },
    }),
  );
});

test('what a sandbox does not ask for is absent from its configuration', () => {
  const { linux, ...wire } = PodSandboxConfig.fromPartial(toSandboxConfig(buildSandboxConfig({ uid: 'u' })));
  const { securityContext: security } = linux ?? {};
  assert.deepEqual(
    [wire.dnsConfig, wire.portMappings, linux?.overhead, linux?.resources, security?.runAsUser, security?.runAsGroup],
    [undefined, [], undefined, undefined, undefined, undefined],
  );
  assert.deepEqual(
    [security?.seccomp, security?.apparmor, security?.selinuxOptions, security?.privileged, security?.readonlyRootfs],
    [undefined, undefined, undefined, false, false],
  );
  assert.equal(security?.namespaceOptions?.usernsOptions, undefined);
  assert.equal(security?.supplementalGroupsPolicy, SupplementalGroupsPolicy.Merge);
});

const everyContainer: ContainerConfig = {
  name: 'main',
  attempt: 4,
  image: { image: 'sha256:a', userSpecifiedImage: 'app:1', runtimeHandler: 'rh' },
  command: ['c'],
  args: ['a', 'b'],
  workingDir: '/w',
  envs: [{ key: 'K', value: 'wört' }],
  mounts: [
    {
      containerPath: '/c',
      hostPath: '/h',
      readOnly: false,
      recursiveReadOnly: true,
      selinuxRelabel: true,
      propagation: 'bidirectional',
    },
    { containerPath: '/d', hostPath: '/e', readOnly: true, propagation: 'host-to-container' },
    {
      containerPath: '/i',
      hostPath: '',
      readOnly: true,
      propagation: 'private',
      image: { image: 'data:1', imageRef: 'sha256:x', subPath: 'sub' },
    },
  ],
  devices: [{ hostPath: '/dev/h', containerPath: '/dev/c', permissions: 'rm' }],
  cdiDevices: ['v.com/c=d'],
  labels: { l: '1' },
  annotations: { a: '2' },
  logPath: 'main/4.log',
  stdin: true,
  stdinOnce: false,
  tty: true,
  resources: everyResource,
  stopSignal: 'SIGUSR1',
  security: {
    capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] },
    privileged: false,
    namespaces: {
      network: 'pod',
      pid: 'target',
      ipc: 'node',
      targetId: 't',
      userns: { mode: 'pod', hostId: 9, length: 8 },
    },
    selinux,
    runAsUser: 1000,
    runAsUsername: 'jane',
    runAsGroup: 1001,
    readOnlyRootFilesystem: true,
    supplementalGroups: [3],
    supplementalGroupsPolicy: 'Merge',
    noNewPrivs: true,
    maskedPaths: ['/m'],
    readonlyPaths: ['/r'],
    seccomp: { type: 'RuntimeDefault' },
    apparmor: { type: 'Localhost', localhostRef: 'prof' },
  },
};

test('a container configuration is sent completely', () => {
  const users = [{ hostId: 9, containerId: 0, length: 8 }];
  const mapped = { uidMappings: users, gidMappings: users };
  const sent = CriContainerConfig.fromPartial({
    metadata: { name: 'main', attempt: 4 },
    image: { image: 'sha256:a', userSpecifiedImage: 'app:1', runtimeHandler: 'rh' },
    command: ['c'],
    args: ['a', 'b'],
    workingDir: '/w',
    envs: [{ key: 'K', value: Buffer.from('wört', 'utf8') }],
    mounts: [
      {
        ...mapped,
        containerPath: '/c',
        hostPath: '/h',
        recursiveReadOnly: true,
        selinuxRelabel: true,
        propagation: MountPropagation.PROPAGATION_BIDIRECTIONAL,
      },
      {
        ...mapped,
        containerPath: '/d',
        hostPath: '/e',
        readonly: true,
        propagation: MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
      },
      {
        ...mapped,
        containerPath: '/i',
        readonly: true,
        propagation: MountPropagation.PROPAGATION_PRIVATE,
        image: { image: 'sha256:x', userSpecifiedImage: 'data:1', imageRef: 'sha256:x' } as object,
        imageSubPath: 'sub',
      },
    ],
    devices: [{ hostPath: '/dev/h', containerPath: '/dev/c', permissions: 'rm' }],
    CDIDevices: [{ name: 'v.com/c=d' }],
    labels: { l: '1' },
    annotations: { a: '2' },
    logPath: 'main/4.log',
    stdin: true,
    tty: true,
    stopSignal: Signal.SIGUSR1,
    linux: {
      resources: everyResourceSent,
      securityContext: {
        capabilities: { addCapabilities: ['NET_ADMIN'], dropCapabilities: ['ALL'] },
        namespaceOptions: {
          network: NamespaceMode.POD,
          pid: NamespaceMode.TARGET,
          ipc: NamespaceMode.NODE,
          targetId: 't',
          usernsOptions: { mode: NamespaceMode.POD, uids: users, gids: users },
        },
        selinuxOptions: selinux,
        runAsUser: { value: 1000n },
        runAsUsername: 'jane',
        runAsGroup: { value: 1001n },
        readonlyRootfs: true,
        supplementalGroups: [3n],
        supplementalGroupsPolicy: SupplementalGroupsPolicy.Merge,
        noNewPrivs: true,
        maskedPaths: ['/m'],
        readonlyPaths: ['/r'],
        seccomp: { profileType: SecurityProfile_ProfileType.RuntimeDefault },
        apparmor: { profileType: SecurityProfile_ProfileType.Localhost, localhostRef: 'prof' },
        apparmorProfile: 'localhost/prof',
      },
    },
  });
  assert.deepEqual(CriContainerConfig.fromPartial(toContainerConfig(everyContainer)), sent);
  assert.deepEqual(CriContainerConfig.decode(CriContainerConfig.encode(sent).finish()).envs[0]?.value.length, 5);
});

test('rights of a container that it does not ask for are absent, and each of the others arrives alone', () => {
  const plain = buildContainerConfig({ uid: 'u' }, { name: 'main', image: 'a' });
  const securityOf = (more: Partial<ContainerConfig['security']>) =>
    CriContainerConfig.fromPartial(toContainerConfig({ ...plain, security: { ...plain.security, ...more } })).linux
      ?.securityContext;
  const nothing = securityOf({});
  assert.deepEqual(
    [nothing?.capabilities, nothing?.runAsUser, nothing?.seccomp, nothing?.apparmor, nothing?.apparmorProfile],
    [undefined, undefined, undefined, undefined, ''],
  );
  assert.deepEqual([nothing?.privileged, nothing?.noNewPrivs, nothing?.readonlyRootfs], [false, false, false]);
  assert.deepEqual(securityOf({ privileged: true }), { ...nothing, privileged: true });
  assert.deepEqual(securityOf({ noNewPrivs: true }), { ...nothing, noNewPrivs: true });
  assert.deepEqual(securityOf({ readOnlyRootFilesystem: true }), { ...nothing, readonlyRootfs: true });
  assert.equal(securityOf({ apparmor: { type: 'RuntimeDefault' } })?.apparmorProfile, 'runtime/default');
  assert.equal(securityOf({ apparmor: { type: 'Unconfined' } })?.apparmorProfile, 'unconfined');
});

test('absent resources are left to the runtime', () => {
  assert.deepEqual(
    Object.values(toResources({})).filter((value) => value !== undefined),
    [],
  );
});

test('a stop signal that CRI does not know is rejected', () => {
  const config = { ...buildContainerConfig({ uid: 'u' }, { name: 'main', image: 'a' }), stopSignal: 'SIGNOPE' };
  assert.throws(
    () => toContainerConfig(config),
    (error) => error instanceof KubeletError && error.kind === 'Invalid',
  );
});
