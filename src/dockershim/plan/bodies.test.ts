import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, it } from 'node:test';
import {
  ContainerConfig,
  NamespaceMode,
  PodSandboxConfig,
  SecurityProfile_ProfileType,
  Signal,
} from '../../cri/generated/cri-v1.ts';
import type { DeepPartial } from '../../grpc/message-fns.ts';
import type { CreateContainerBody } from '../engine/docker-types.ts';
import { containerBody, criSignal, dockerSignal } from './container-body.ts';
import { dockerResources } from './docker-resources.ts';
import { resolvConf, sandboxBody } from './sandbox-body.ts';
import { securityOptions } from './security-options.ts';
import { LinuxContainerResources } from '../../cri/generated/cri-v1.ts';

const metadata = { name: 'web', namespace: 'ns', uid: 'u', attempt: 0 };

function sandbox(config: DeepPartial<PodSandboxConfig>, runtimeHandler = ''): CreateContainerBody {
  return sandboxBody({
    config: PodSandboxConfig.fromPartial({ metadata, ...config }),
    pauseImage: 'pause:1',
    runtimeHandler,
    securityOpt: [],
    createdAtNanos: 5n,
    lowestOomScore: -1000,
  });
}

function container(config: DeepPartial<ContainerConfig>, lowestOomScore = -1000): CreateContainerBody {
  return containerBody({
    config: ContainerConfig.fromPartial({
      metadata: { name: 'c', attempt: 1 },
      image: { image: 'docker://sha256:1' },
      ...config,
    }),
    sandboxId: 'box',
    logDirectory: '/var/log/pods/p',
    cgroupParent: '/kubepods/podu',
    securityOpt: [],
    createdAtNanos: 7n,
    lowestOomScore,
    runtime: '',
  });
}

describe('the container of a sandbox', () => {
  it('has no network from Docker and shares the namespaces that containers join', () => {
    const { HostConfig: host } = sandbox({ hostname: 'web' });
    assert.equal(host.NetworkMode, 'none');
    assert.equal(host.IpcMode, 'shareable');
    assert.equal(host.PidMode, '');
    assert.equal(host.UTSMode, undefined);
  });

  it("has the host's namespaces if the pod asks for them, and then no host name of its own", () => {
    const namespaceOptions = { network: NamespaceMode.NODE, pid: NamespaceMode.NODE, ipc: NamespaceMode.NODE };
    const body = sandbox({ hostname: 'web', linux: { securityContext: { namespaceOptions } } });
    assert.equal(body.Hostname, undefined);
    const { NetworkMode, PidMode, IpcMode, UTSMode } = body.HostConfig;
    assert.deepEqual([NetworkMode, PidMode, IpcMode, UTSMode], ['host', 'host', 'host', 'host']);
  });

  it('is the last to be killed when memory is short, as far as Docker may set this', () => {
    assert.equal(sandbox({}).HostConfig.OomScoreAdj, -998);
    const config = PodSandboxConfig.fromPartial({ metadata });
    const parts = {
      config,
      pauseImage: 'p',
      runtimeHandler: '',
      securityOpt: [],
      createdAtNanos: 1n,
      lowestOomScore: 0,
    };
    assert.equal(sandboxBody(parts).HostConfig.OomScoreAdj, 0);
  });

  it('carries labels, annotations and its creation time', () => {
    assert.deepEqual(sandbox({ labels: { a: 'b' }, annotations: { c: 'd' } }, 'gvisor').Labels, {
      a: 'b',
      'annotation.c': 'd',
      'io.kubernetes.docker.type': 'podsandbox',
      'io.kubernetes.docker.created-at': '5',
      'io.kubernetes.docker.runtime-handler': 'gvisor',
    });
    assert.equal(sandbox({}, 'gvisor').HostConfig.Runtime, 'gvisor');
    assert.equal(sandbox({}, '').HostConfig.Runtime, undefined);
  });

  it('refuses a group without a user and user namespaces', () => {
    assert.throws(() => sandbox({ linux: { securityContext: { runAsGroup: { value: 5n } } } }), { kind: 'Invalid' });
    const usernsOptions = { mode: NamespaceMode.POD };
    const linux = { securityContext: { namespaceOptions: { usernsOptions } } };
    assert.throws(() => sandbox({ linux }), { kind: 'Unimplemented' });
  });

  it("has the pod's resolv.conf, or Docker's when the pod does not set one", () => {
    const dnsConfig = { servers: ['10.0.0.10', 'fd00::a'], searches: ['ns.svc', 'svc'], options: ['ndots:5'] };
    assert.equal(
      resolvConf(PodSandboxConfig.fromPartial({ dnsConfig })),
      'search ns.svc svc\nnameserver 10.0.0.10\nnameserver fd00::a\noptions ndots:5\n',
    );
    assert.equal(resolvConf(PodSandboxConfig.fromPartial({})), undefined);
  });
});

describe('the body of a container', () => {
  it('joins the namespaces of its sandbox', () => {
    const { NetworkMode, IpcMode, PidMode } = container({}).HostConfig;
    assert.deepEqual([NetworkMode, IpcMode, PidMode], ['container:box', 'container:box', 'container:box']);
  });

  for (const [pid, mode] of [
    [NamespaceMode.CONTAINER, ''],
    [NamespaceMode.NODE, 'host'],
    [NamespaceMode.TARGET, 'container:other'],
  ] as const)
    it(`has the process namespace ${JSON.stringify(mode)}`, () => {
      const namespaceOptions = { pid, targetId: 'other' };
      assert.equal(container({ linux: { securityContext: { namespaceOptions } } }).HostConfig.PidMode, mode);
    });

  it('passes command and arguments separately, and leaves out those that the image sets', () => {
    const body = container({ command: ['sh'], args: ['-c', 'x'], envs: [{ key: 'A', value: Buffer.from('é=1') }] });
    assert.deepEqual([body.Entrypoint, body.Cmd, body.Env], [['sh'], ['-c', 'x'], ['A=é=1']]);
    const plain = container({});
    assert.deepEqual([plain.Entrypoint, plain.Cmd, plain.WorkingDir], [undefined, undefined, undefined]);
    assert.equal(plain.Image, 'sha256:1');
    assert.deepEqual(plain.Healthcheck, { Test: ['NONE'] });
  });

  it('stores the path of its log, relative to the folder of the pod', () => {
    assert.equal(
      container({ logPath: 'c/1.log' }).Labels['io.kubernetes.container.logpath'],
      '/var/log/pods/p/c/1.log',
    );
    assert.equal(container({}).Labels['io.kubernetes.container.logpath'], '');
  });

  it('mounts with propagation, and relabels only in the notation that does not allow colons', () => {
    const { HostConfig: host } = container({
      mounts: [
        { hostPath: '/a:b', containerPath: '/x', readonly: true, propagation: 1, selinuxRelabel: true },
        { hostPath: '/c', containerPath: '/y', selinuxRelabel: true, propagation: 2 },
      ],
    });
    assert.deepEqual(host.Mounts, [
      { Type: 'bind', Source: '/a:b', Target: '/x', ReadOnly: true, BindOptions: { Propagation: 'rslave' } },
    ]);
    assert.deepEqual(host.Binds, ['/c:/y:rw,Z,rshared']);
  });

  it('leaves private mounts to Docker, which refuses them for sources that contain its own folder', () => {
    const { HostConfig: host } = container({ mounts: [{ hostPath: '/', containerPath: '/host' }] });
    assert.equal(host.Mounts?.[0]?.BindOptions.Propagation, '');
    const relabelled = container({ mounts: [{ hostPath: '/', containerPath: '/host', selinuxRelabel: true }] });
    assert.deepEqual(relabelled.HostConfig.Binds, ['/:/host:rw,Z']);
  });

  it('reports what Docker does not support', () => {
    const mounts = [{ containerPath: '/x', image: { image: 'volume:1' } }];
    assert.throws(() => container({ mounts }), { kind: 'Unimplemented', message: /containerd 2/ });
  });

  it('masks kernel files unless it is privileged', () => {
    const masked = { maskedPaths: ['/proc/kcore'], readonlyPaths: ['/proc/sys'] };
    assert.deepEqual(container({ linux: { securityContext: masked } }).HostConfig.MaskedPaths, ['/proc/kcore']);
    const { MaskedPaths, Privileged } = container({
      linux: { securityContext: { ...masked, privileged: true } },
    }).HostConfig;
    assert.deepEqual([MaskedPaths, Privileged], [undefined, true]);
  });

  for (const [given, user] of [
    [{ runAsUser: { value: 0n } }, '0'],
    [{ runAsUser: { value: 5n }, runAsGroup: { value: 6n } }, '5:6'],
    [{ runAsUsername: 'web' }, 'web'],
    [{}, undefined],
  ] as const)
    it(`runs as ${user ?? 'the user of the image'}`, () =>
      assert.equal(container({ linux: { securityContext: given } }).User, user));

  it('refuses a group without a user', () => {
    assert.throws(() => container({ linux: { securityContext: { runAsGroup: { value: 6n } } } }), { kind: 'Invalid' });
  });

  it('never requests a lower score than Docker may set', () => {
    const linux = { resources: { oomScoreAdj: -997n } };
    assert.equal(container({ linux }).HostConfig.OomScoreAdj, -997);
    assert.equal(container({ linux }, 0).HostConfig.OomScoreAdj, 0);
  });
});

describe('resources', () => {
  const resources = (given: DeepPartial<LinuxContainerResources>): object =>
    dockerResources(LinuxContainerResources.fromPartial(given));

  it('of zero are not set', () => assert.deepEqual(resources({}), {}));

  it('allow no swap with a memory limit, or as much as the kubelet sets', () => {
    assert.deepEqual(resources({ memoryLimitInBytes: 100n }), { Memory: 100, MemorySwap: 100 });
    assert.deepEqual(resources({ memoryLimitInBytes: 100n, memorySwapLimitInBytes: 150n }), {
      Memory: 100,
      MemorySwap: 150,
    });
    assert.deepEqual(resources({ memoryLimitInBytes: 100n, memorySwapLimitInBytes: -1n }), {
      Memory: 100,
      MemorySwap: -1,
    });
  });

  it('remove a quota with -1', () => {
    assert.deepEqual(resources({ cpuQuota: -1n, cpuPeriod: 100_000n }), { CpuQuota: -1, CpuPeriod: 100_000 });
  });
});

describe('security options', () => {
  const base = {
    privileged: false,
    seccomp: undefined,
    apparmor: undefined,
    selinuxOptions: undefined,
    noNewPrivs: false,
  };
  const read = (file: string): Promise<string> => Promise.resolve(`{"file":"${file}"}`);
  const profile = (
    profileType: SecurityProfile_ProfileType,
    localhostRef = '',
  ): { profileType: typeof profileType; localhostRef: string } => ({ profileType, localhostRef });
  const { RuntimeDefault, Unconfined, Localhost } = SecurityProfile_ProfileType;

  for (const [name, choice, want] of [
    ['no profile is no confinement', {}, ['seccomp=unconfined']],
    ["Docker's own profile needs no option", { seccomp: profile(RuntimeDefault) }, []],
    ['a local profile is read', { seccomp: profile(Localhost, '/p.json') }, ['seccomp={"file":"/p.json"}']],
    [
      'a privileged container has none',
      { privileged: true, seccomp: profile(RuntimeDefault), apparmor: profile(Localhost, 'x') },
      ['seccomp=unconfined'],
    ],
    [
      'AppArmor by name',
      { seccomp: profile(RuntimeDefault), apparmor: profile(Localhost, 'localhost/mine') },
      ['apparmor=mine'],
    ],
    [
      'AppArmor switched off',
      { seccomp: profile(Unconfined), apparmor: profile(Unconfined) },
      ['seccomp=unconfined', 'apparmor=unconfined'],
    ],
    [
      'SELinux and privileges',
      {
        seccomp: profile(RuntimeDefault),
        selinuxOptions: { user: '', role: 'r', type: 't', level: '' },
        noNewPrivs: true,
      },
      ['label=role:r', 'label=type:t', 'no-new-privileges'],
    ],
  ] as const)
    it(name, async () => assert.deepEqual(await securityOptions({ ...base, ...choice }, read), want));

  it('refuse an AppArmor profile without a name', async () => {
    const choice = { ...base, apparmor: profile(Localhost, 'localhost/') };
    await assert.rejects(securityOptions(choice, read), { kind: 'Invalid' });
  });
});

describe('signals', () => {
  it("have Docker's names, and are the same after a round trip", () => {
    assert.equal(dockerSignal(Signal.SIGRTMINPLUS3), 'SIGRTMIN+3');
    assert.equal(dockerSignal(Signal.SIGRTMAXMINUS2), 'SIGRTMAX-2');
    for (const value of Object.values(Signal).filter((each) => each !== Signal.RUNTIME_DEFAULT))
      assert.equal(criSignal(dockerSignal(value)), value);
    assert.equal(criSignal('37'), Signal.RUNTIME_DEFAULT);
  });
});
