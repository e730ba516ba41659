/** The floor: a pod by plain CRI calls, with the configuration that the agent would use. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DeepPartial } from '../../src/grpc/message-fns.ts';
import type { CriClient } from '../../src/cri/cri-client.ts';
import type { ContainerConfig, PodSandboxConfig } from '../../src/cri/generated/cri-v1.ts';
import {
  ContainerState,
  MountPropagation,
  NamespaceMode,
  SecurityProfile_ProfileType,
} from '../../src/cri/generated/cri-v1.ts';
import { WEB_IMAGE } from '../../src/up/images/catalogue.ts';
import { describeProcess, waitUntil } from '../../src/up/processes.ts';
import type { TestContainerd } from '../integration/support/containerd.ts';

/** Ends at once on SIGTERM with exit code 0. The first process of a pid namespace needs a handler for that. */
export const COMMAND = ['sh', '-c', 'trap "exit 0" TERM; sleep 2147483647 & wait'];
const NAMESPACES = { network: NamespaceMode.POD, pid: NamespaceMode.CONTAINER, ipc: NamespaceMode.POD };
const MASKED_PATHS = [
  '/proc/asound',
  '/proc/acpi',
  '/proc/interrupts',
  '/proc/kcore',
  '/proc/keys',
  '/proc/latency_stats',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/sched_debug',
  '/proc/scsi',
  '/sys/firmware',
  '/sys/devices/virtual/powercap',
];
const READONLY_PATHS = ['/proc/bus', '/proc/fs', '/proc/irq', '/proc/sys', '/proc/sysrq-trigger'];
/** The resources of a BestEffort container. */
const RESOURCES = { cpuPeriod: 100_000n, cpuQuota: 0n, cpuShares: 2n };

/** The variables of the service `kubernetes`. */
const SERVICE_ENVIRONMENT = Object.entries({
  KUBERNETES_SERVICE_HOST: '10.96.0.1',
  KUBERNETES_SERVICE_PORT: '443',
  KUBERNETES_SERVICE_PORT_HTTPS: '443',
  KUBERNETES_PORT: 'tcp://10.96.0.1:443',
  KUBERNETES_PORT_443_TCP: 'tcp://10.96.0.1:443',
  KUBERNETES_PORT_443_TCP_PROTO: 'tcp',
  KUBERNETES_PORT_443_TCP_PORT: '443',
  KUBERNETES_PORT_443_TCP_ADDR: '10.96.0.1',
}).map(([key, value]) => ({ key, value: Buffer.from(value) }));

/**
 * Labels with the same number and length as the agent's. They do not identify the pod as a kubelet's, because the agent
 * on the same runtime must ignore it.
 */
function labels(name: string, container?: string): Record<string, string> {
  return {
    'dev.kubelet-ts.bench.pod.name': name,
    'dev.kubelet-ts.bench.pod.namespace': 'default',
    'dev.kubelet-ts.bench.pod.uid': name,
    ...(container === undefined ? {} : { 'dev.kubelet-ts.bench.container.name': container }),
  };
}

export class RawPod {
  readonly #cri: CriClient;
  readonly sandbox: DeepPartial<PodSandboxConfig>;
  readonly #files: string;
  readonly #inCluster: boolean;
  #sandboxId = '';
  #containerIds: string[] = [];

  /**
   * `inCluster`: with a mounted service account token and the API server's address in the environment, as pods of a
   * cluster have them.
   */
  constructor(containerd: TestContainerd, name: string, { inCluster = false }: { inCluster?: boolean } = {}) {
    const { instance, cgroupRoot } = containerd;
    this.#cri = containerd.cri;
    this.#inCluster = inCluster;
    this.#files = join(instance.dataDir, 'raw', name);
    const logDirectory = join(instance.podLogsDir, `default_${name}_${name}`);
    mkdirSync(this.#files, { recursive: true });
    mkdirSync(logDirectory, { recursive: true });
    writeFileSync(join(this.#files, 'etc-hosts'), '127.0.0.1\tlocalhost\n');
    writeFileSync(join(this.#files, 'termination-log'), '');
    if (inCluster) mkdirSync(join(this.#files, 'token'), { recursive: true });
    this.sandbox = {
      metadata: { name, namespace: 'default', uid: name, attempt: 0 },
      hostname: name,
      logDirectory,
      dnsConfig: { servers: nameServers(), searches: [], options: [] },
      labels: labels(name),
      linux: {
        // As deep as kubepods/besteffort/podUID.
        cgroupParent: `${cgroupRoot}/raw/besteffort/pod${name}`,
        resources: RESOURCES,
        securityContext: {
          namespaceOptions: NAMESPACES,
          seccomp: { profileType: SecurityProfile_ProfileType.RuntimeDefault },
        },
      },
    };
  }

  /** RunPodSandbox, CreateContainer, StartContainer, ContainerStatus. */
  async run(): Promise<void> {
    const { podSandboxId } = await this.#cri.runtime.runPodSandbox({ config: this.sandbox });
    this.#sandboxId = podSandboxId;
    await this.startContainer();
    await this.#cri.runtime.containerStatus({ containerId: this.#current });
  }

  /** CreateContainer and StartContainer, with the next attempt. */
  async startContainer(): Promise<void> {
    const { containerId } = await this.#cri.runtime.createContainer({
      podSandboxId: this.#sandboxId,
      sandboxConfig: this.sandbox,
      config: this.container(),
    });
    this.#containerIds.push(containerId);
    await this.#cri.runtime.startContainer({ containerId });
  }

  /** Kills its process with SIGKILL; returns when the runtime reports that it has exited. */
  async killContainer(): Promise<void> {
    process.kill(await containerPid(this.#cri, this.#current), 'SIGKILL');
    const exited = async (): Promise<boolean> =>
      (await this.#cri.runtime.containerStatus({ containerId: this.#current })).status?.state ===
      ContainerState.CONTAINER_EXITED;
    if (!(await waitUntil(exited, 10_000, 1))) throw new Error('a killed container did not exit');
  }

  get containerId(): string {
    return this.#current;
  }

  /** StopContainer, StopPodSandbox, RemoveContainer, RemovePodSandbox. */
  async remove(): Promise<void> {
    await this.stop();
    await this.removeStopped();
  }

  async stop(): Promise<void> {
    await this.#cri.runtime.stopContainer({ containerId: this.#current, timeout: 30 });
    await this.#cri.runtime.stopPodSandbox({ podSandboxId: this.#sandboxId });
  }

  async removeStopped(): Promise<void> {
    for (const containerId of this.#containerIds) await this.#cri.runtime.removeContainer({ containerId });
    await this.#cri.runtime.removePodSandbox({ podSandboxId: this.#sandboxId });
  }

  get #current(): string {
    const id = this.#containerIds.at(-1);
    if (id === undefined) throw new Error('the raw pod has no container');
    return id;
  }

  /** The configuration of the next container. */
  container(): DeepPartial<ContainerConfig> {
    const attempt = this.#containerIds.length;
    const mount = (containerPath: string, file: string) => ({
      containerPath,
      hostPath: join(this.#files, file),
      readonly: false,
      propagation: MountPropagation.PROPAGATION_PRIVATE,
    });
    return {
      metadata: { name: 'main', attempt },
      image: { image: WEB_IMAGE },
      command: COMMAND,
      envs: this.#inCluster ? SERVICE_ENVIRONMENT : [],
      mounts: [
        ...(this.#inCluster
          ? [{ ...mount('/var/run/secrets/kubernetes.io/serviceaccount', 'token'), readonly: true }]
          : []),
        mount('/etc/hosts', 'etc-hosts'),
        mount('/dev/termination-log', 'termination-log'),
      ],
      labels: labels(this.sandbox.metadata?.name ?? '', 'main'),
      logPath: `main/${attempt}.log`,
      linux: {
        resources: { ...RESOURCES, oomScoreAdj: 1000n },
        securityContext: {
          namespaceOptions: NAMESPACES,
          runAsUser: { value: 0n },
          maskedPaths: MASKED_PATHS,
          readonlyPaths: READONLY_PATHS,
          seccomp: { profileType: SecurityProfile_ProfileType.Unconfined },
        },
      },
    };
  }
}

/** The process id of a running container, from the runtime's verbose status. */
export async function containerPid(cri: CriClient, containerId: string): Promise<number> {
  const { info } = await cri.runtime.containerStatus({ containerId, verbose: true });
  const { pid } = JSON.parse(info['info'] ?? '{}') as { pid?: number };
  if (pid === undefined || pid <= 1 || describeProcess(pid) === undefined)
    throw new Error(`the runtime names no living process for container ${containerId}`);
  return pid;
}

function nameServers(): string[] {
  return readFileSync('/etc/resolv.conf', 'utf8')
    .split('\n')
    .flatMap((line) => /^nameserver\s+(\S+)/.exec(line)?.[1] ?? [])
    .slice(0, 3);
}
