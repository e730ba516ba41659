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
  ContainerConfig as CriContainerConfig,
  SecurityProfile_ProfileType,
  Signal,
  StatusResponse,
} from '../../../cri/generated/cri-v1.ts';
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

test('a sandbox configuration is sent completely', () => {
  const config = buildSandboxConfig(
    { uid: 'u' },
    {
      attempt: 2,
      portMappings: [{ protocol: 'UDP', containerPort: 53, hostPort: 5353, hostIp: '127.0.0.1' }],
      dns: { servers: ['1.1.1.1'], searches: ['s'], options: ['ndots:5'] },
      sysctls: { 'net.core.somaxconn': '1' },
      overhead: { cpuShares: 10 },
      security: {
        namespaces: {
          network: 'pod',
          pid: 'container',
          ipc: 'pod',
          userns: { mode: 'pod', hostId: 65536, length: 65536 },
        },
        runAsUser: 0,
        supplementalGroups: [1, 2],
        supplementalGroupsPolicy: 'Strict',
        privileged: false,
        readOnlyRootFilesystem: true,
        seccomp: { type: 'Localhost', localhostRef: '/x.json' },
      },
    },
  );
  const wire = PodSandboxConfig.decode(
    PodSandboxConfig.encode(PodSandboxConfig.fromPartial(toSandboxConfig(config))).finish(),
  );
  const security = wire.linux?.securityContext;
  assert.deepEqual(
    [
      wire.metadata,
      wire.portMappings[0]?.protocol,
      wire.dnsConfig?.options,
      wire.linux?.sysctls,
      wire.linux?.overhead?.cpuShares,
      security?.runAsUser?.value,
      security?.runAsGroup,
      security?.supplementalGroups,
      security?.supplementalGroupsPolicy,
    ],
    [
      { name: 'pod-u', namespace: 'default', uid: 'u', attempt: 2 },
      1,
      ['ndots:5'],
      { 'net.core.somaxconn': '1' },
      10n,
      0n,
      undefined,
      [1n, 2n],
      1,
    ],
  );
  assert.deepEqual(security?.namespaceOptions?.usernsOptions?.uids, [{ hostId: 65536, containerId: 0, length: 65536 }]);
  assert.deepEqual(security?.seccomp, { profileType: SecurityProfile_ProfileType.Localhost, localhostRef: '/x.json' });
});

test('a container configuration is sent completely', () => {
  const base = buildContainerConfig({ uid: 'u' }, { name: 'main', image: 'app:1', attempt: 4 });
  const config = {
    ...base,
    stopSignal: 'SIGUSR1',
    envs: [{ key: 'K', value: 'wört' }],
    mounts: [
      { containerPath: '/c', hostPath: '/h', readOnly: true, propagation: 'bidirectional' as const },
      {
        containerPath: '/i',
        hostPath: '',
        readOnly: true,
        propagation: 'private' as const,
        image: { image: 'data:1', imageRef: 'sha256:x', subPath: 'sub' },
      },
    ],
    resources: {
      cpuQuota: 1500.7,
      memoryLimitBytes: 64 * 2 ** 20,
      hugepageLimits: [{ pageSize: '2MB', limitBytes: 4 }],
      oomScoreAdj: -997,
      unified: { 'memory.oom.group': '1' },
    },
    security: {
      ...base.security,
      runAsUser: 1000,
      capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] },
      namespaces: { network: 'pod' as const, pid: 'target' as const, ipc: 'pod' as const, targetId: 't' },
      noNewPrivs: true,
      maskedPaths: ['/m'],
    },
  };
  const wire = CriContainerConfig.decode(
    CriContainerConfig.encode(CriContainerConfig.fromPartial(toContainerConfig(config))).finish(),
  );
  const { securityContext, resources } = wire.linux ?? {};
  assert.deepEqual(
    [wire.metadata, wire.stopSignal, new TextDecoder().decode(wire.envs[0]?.value), wire.image?.image],
    [{ name: 'main', attempt: 4 }, Signal.SIGUSR1, 'wört', 'app:1'],
  );
  assert.deepEqual(
    wire.mounts.map((mount) => [mount.propagation, mount.readonly, mount.image?.image, mount.imageSubPath]),
    [
      [MountPropagation.PROPAGATION_BIDIRECTIONAL, true, undefined, ''],
      [0, true, 'sha256:x', 'sub'],
    ],
  );
  assert.deepEqual(
    [
      resources?.cpuQuota,
      resources?.memoryLimitInBytes,
      resources?.oomScoreAdj,
      resources?.hugepageLimits,
      resources?.unified,
    ],
    [1500n, 67108864n, -997n, [{ pageSize: '2MB', limit: 4n }], { 'memory.oom.group': '1' }],
  );
  assert.deepEqual(
    [
      securityContext?.runAsUser?.value,
      securityContext?.capabilities?.dropCapabilities,
      securityContext?.namespaceOptions?.pid,
      securityContext?.namespaceOptions?.targetId,
      securityContext?.noNewPrivs,
    ],
    [1000n, ['ALL'], NamespaceMode.TARGET, 't', true],
  );
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
