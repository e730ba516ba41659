import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import {
  ContainerConfig,
  ContainerStats,
  ContainerStatus,
  ImageServiceDefinition,
  LinuxContainerResources,
  PodSandboxConfig,
  PodSandboxMetrics,
  PodSandboxStatus,
  RuntimeServiceDefinition,
  SecurityProfile_ProfileType,
  Signal,
  VersionRequest,
} from './generated/cri-v1.ts';
import type { DeepPartial, MessageFns } from '../grpc/message-fns.ts';

/** Encodes and decodes the message; omitted fields get their defaults. */
function roundTrip<T>(type: MessageFns<T>, partial: DeepPartial<T>): { sent: T; received: T } {
  const sent = type.fromPartial(partial);
  return { sent, received: type.decode(type.encode(sent).finish()) };
}

const security = {
  namespaceOptions: {
    network: 2,
    pid: 3,
    ipc: 0,
    targetId: 't',
    usernsOptions: { mode: 0, uids: [{ hostId: 65536, containerId: 0, length: 4294967295 }], gids: [] },
  },
  selinuxOptions: { user: 'u', role: 'r', type: 't', level: 'l' },
  runAsUser: { value: 0 },
  supplementalGroups: [1, 2n ** 53n + 1n],
  seccomp: { profileType: SecurityProfile_ProfileType.Localhost, localhostRef: 'p' },
} satisfies DeepPartial<ContainerConfig['linux'] & object>['securityContext'];

const trips: readonly [string, () => { sent: unknown; received: unknown }][] = [
  [
    'a sandbox configuration',
    () =>
      roundTrip(PodSandboxConfig, {
        metadata: { name: 'n', uid: 'u', namespace: 'ns', attempt: 3 },
        hostname: 'h',
        dnsConfig: { servers: ['10.0.0.1', '::1'], searches: ['a'], options: ['ndots:5'] },
        portMappings: [{ protocol: 1, containerPort: 53, hostPort: 53, hostIp: '::' }],
        labels: { a: 'b', '': 'empty', ключ: '值' },
        linux: {
          cgroupParent: '/kubepods',
          sysctls: { 'net.a': '1' },
          overhead: { cpuShares: 2 },
          securityContext: { ...security, privileged: true },
        },
      }),
  ],
  [
    'a container configuration',
    () =>
      roundTrip(ContainerConfig, {
        metadata: { name: 'c', attempt: 4294967295 },
        image: { image: 'sha256:x', annotations: { a: 'b' }, userSpecifiedImage: 'i', runtimeHandler: 'r' },
        command: ['/bin/sh', ''],
        envs: [{ key: 'BINARY', value: new Uint8Array([0, 255, 128]) }],
        mounts: [
          {
            containerPath: '/a',
            hostPath: '/b',
            readonly: true,
            propagation: 2,
            uidMappings: [{ hostId: 1, containerId: 2, length: 3 }],
            image: { image: 'v' },
            imageSubPath: 's',
          },
        ],
        devices: [{ containerPath: '/dev/a', hostPath: '/dev/b', permissions: 'rwm' }],
        CDIDevices: [{ name: 'vendor.com/gpu=0' }],
        stdinOnce: true,
        stopSignal: Signal.SIGUSR1,
        linux: {
          securityContext: {
            ...security,
            capabilities: { addCapabilities: ['NET_ADMIN'] },
            maskedPaths: ['/proc/kcore'],
            noNewPrivs: true,
          },
        },
      }),
  ],
  [
    'resources at the ends of their range',
    () =>
      roundTrip(LinuxContainerResources, {
        cpuPeriod: 100_000,
        cpuQuota: -1,
        memoryLimitInBytes: 2n ** 63n - 1n,
        oomScoreAdj: -997,
        memorySwapLimitInBytes: -(2n ** 63n),
        hugepageLimits: [{ pageSize: '2MB', limit: 2n ** 64n - 1n }],
        unified: { 'memory.high': '1' },
      }),
  ],
  [
    'a container status',
    () =>
      roundTrip(ContainerStatus, {
        id: 'c',
        state: 2,
        createdAt: 1_795_230_865_126_999_999n,
        finishedAt: 1n,
        exitCode: -1,
        reason: 'OOMKilled',
        resources: { linux: { cpuShares: 2 } },
        user: { linux: { uid: 0, gid: 1, supplementalGroups: [5] } },
      }),
  ],
  [
    'a sandbox status',
    () =>
      roundTrip(PodSandboxStatus, {
        id: 's',
        state: 1,
        network: { ip: '10.0.0.2', additionalIps: [{ ip: 'fd00::2' }] },
        linux: { namespaces: { options: { network: 2 } } },
      }),
  ],
  [
    'container stats, where zero differs from absent',
    () =>
      roundTrip(ContainerStats, {
        attributes: { id: 'c' },
        cpu: { timestamp: 1n, usageCoreNanoSeconds: { value: 0 }, psi: { Full: { Total: 1, Avg10: 0.5 } } },
        memory: { workingSetBytes: { value: 2n ** 64n - 1n } },
      }),
  ],
  [
    'metrics',
    () =>
      roundTrip(PodSandboxMetrics, {
        podSandboxId: 's',
        metrics: [{ name: 'm', labelValues: ['a', ''], metricType: 1, value: { value: 3 } }],
      }),
  ],
];

for (const [what, trip] of trips) {
  test(`${what} survives the wire`, () => {
    const { sent, received } = trip();
    assert.deepEqual(plain(received), plain(sent));
  });
}

/** Converts bytes to arrays, because decoders return different kinds of Uint8Array. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return [...value];
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, plain(entry)]));
}

test('fields of a newer runtime are skipped', () => {
  const known = VersionRequest.encode({ version: 'v' }).finish();
  assert.deepEqual(VersionRequest.decode(Buffer.concat([Buffer.from([0xfa, 0x06, 2, 65, 65]), known])), {
    version: 'v',
  });
});

test('the bytes of a message are what the protobuf specification says', () => {
  const bytes = LinuxContainerResources.encode(
    LinuxContainerResources.fromPartial({
      cpuPeriod: 300,
      cpuset: undefined,
      cpusetCpus: '0-1',
      cpuQuota: 0,
    } as DeepPartial<LinuxContainerResources>),
  ).finish();
  assert.equal(Buffer.from(bytes).toString('hex'), '08ac023203302d31');
});

test('the package speaks every method of CRI v1 and only the event and list methods stream', () => {
  const runtime = Object.values(RuntimeServiceDefinition.methods);
  const images = Object.values(ImageServiceDefinition.methods);
  const streaming = [...runtime, ...images].filter((method) => method.responseStream).map((method) => method.name);
  assert.deepEqual(
    [RuntimeServiceDefinition.fullName, runtime.length, ImageServiceDefinition.fullName, images.length],
    ['runtime.v1.RuntimeService', 35, 'runtime.v1.ImageService', 6],
  );
  assert.deepEqual(streaming.sort(), [
    'GetContainerEvents',
    'StreamContainerStats',
    'StreamContainers',
    'StreamImages',
    'StreamPodSandboxMetrics',
    'StreamPodSandboxStats',
    'StreamPodSandboxes',
  ]);
});

test('the generated code holds every method of the proto file', () => {
  const proto = readFileSync(new URL('proto/cri-v1.proto', import.meta.url), 'utf8');
  const declared = [...proto.matchAll(/^ {2}rpc (\w+)/gm)].map((match) => match[1]);
  const generated = [RuntimeServiceDefinition, ImageServiceDefinition].flatMap((service) =>
    Object.values(service.methods).map((method) => method.name),
  );
  assert.deepEqual(declared, generated);
});
