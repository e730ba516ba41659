/**
 * The measured kubelet: any program with upstream's flags that joined an API server, on the benchmark's own containerd
 * and folders.
 */
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { dirname, join } from 'node:path';
import { readKubeconfig } from '../../../src/client/kubeconfig.ts';
import { freePort, RESOLVED_CONF } from '../../../src/up/agent.ts';
import { machineEnvironment } from '../../../src/up/commands.ts';
import { lastLines } from '../../../src/up/containerd.ts';
import type { ProcessRecord } from '../../../src/up/processes.ts';
import { describeProcess, isAlive, stopProcess, writeProcessFile } from '../../../src/up/processes.ts';
import { kubeletPidFile } from '../../../src/up/teardown.ts';
import type { TestContainerd } from '../../integration/support/containerd.ts';
import { processCpuMs, residentMib } from '../process-figures.ts';
import { whileStopped } from '../while-stopped.ts';

export const NODE_NAME = 'bench';

export interface MemberOptions {
  readonly program: string;
  /** An administrator's kubeconfig, for requests to the kubelet's server. */
  readonly kubeconfig: string;
  readonly nodeKubeconfig: string;
  readonly managers: boolean;
}

/** All managers are enabled, and all thresholds are set. On two cores, one is left for pods with exclusive cores. */
const managed = {
  cpuManagerPolicy: 'static',
  reservedSystemCPUs: '0',
  memoryManagerPolicy: 'Static',
  kubeReserved: { memory: '100Mi' },
  reservedMemory: [{ numaNode: 0, limits: { memory: '200Mi' } }],
  topologyManagerPolicy: 'best-effort',
  evictionHard: {
    'memory.available': '100Mi',
    'nodefs.available': '1%',
    'nodefs.inodesFree': '1%',
    'imagefs.available': '1%',
    'imagefs.inodesFree': '1%',
    'pid.available': '1%',
  },
  evictionSoft: { 'memory.available': '200Mi' },
  evictionSoftGracePeriod: { 'memory.available': '1m' },
};

export interface Answer {
  readonly status: number;
  /** The body as received. */
  readonly body: Buffer;
}

export class Member {
  readonly #containerd: TestContainerd;
  readonly #options: MemberOptions;
  readonly #port: number;
  readonly #agent: Agent;
  #record: ProcessRecord | undefined;

  private constructor(containerd: TestContainerd, options: MemberOptions, port: number) {
    this.#containerd = containerd;
    this.#options = options;
    this.#port = port;
    const { certificate, key } = readKubeconfig(options.kubeconfig);
    // What it serves with is self-signed.
    this.#agent = new Agent({ keepAlive: true, rejectUnauthorized: false, cert: certificate, key });
  }

  static async prepare(containerd: TestContainerd, options: MemberOptions): Promise<Member> {
    const { instance } = containerd;
    const [port, healthzPort] = await Promise.all([freePort(0), freePort(0)]);
    mkdirSync(instance.staticPodsDir, { recursive: true });
    mkdirSync(instance.kubeletRoot, { recursive: true });
    const clientCaFile = join(instance.kubeletRoot, 'client-ca.crt');
    writeFileSync(clientCaFile, readKubeconfig(options.kubeconfig).ca ?? '');
    writeFileSync(
      instance.kubeletConfig,
      JSON.stringify({
        apiVersion: 'kubelet.config.k8s.io/v1beta1',
        kind: 'KubeletConfiguration',
        staticPodPath: instance.staticPodsDir,
        containerRuntimeEndpoint: containerd.endpoint,
        podLogsDir: instance.podLogsDir,
        cgroupRoot: containerd.cgroupRoot,
        cgroupDriver: 'cgroupfs',
        failCgroupV1: false,
        failSwapOn: false,
        // The limits of the cgroup of all pods cannot be set where the machine's own processes are not in cgroups:
        // upstream's kubelet fails then.
        enforceNodeAllocatable: [],
        address: '127.0.0.1',
        port,
        healthzPort,
        authentication: {
          anonymous: { enabled: false },
          webhook: { enabled: true },
          x509: { clientCAFile: clientCaFile },
        },
        authorization: { mode: 'Webhook' },
        imageGCHighThresholdPercent: 100,
        // No server listens there; without the setting, every pod starts with a warning.
        clusterDNS: ['10.96.0.10'],
        clusterDomain: 'cluster.local',
        evictionHard: { 'memory.available': '100Mi' },
        ...(options.managers && managed),
        ...(existsSync(RESOLVED_CONF) && { resolvConf: RESOLVED_CONF }),
      }),
    );
    return new Member(containerd, options, port);
  }

  /** Starts the process and returns at once. */
  start(): void {
    const { instance } = this.#containerd;
    const log = openSync(instance.kubeletLog, 'a');
    const args = [
      '--config',
      instance.kubeletConfig,
      '--kubeconfig',
      this.#options.nodeKubeconfig,
      '--root-dir',
      instance.kubeletRoot,
      '--cert-dir',
      join(instance.kubeletRoot, 'pki'),
      '--hostname-override',
      NODE_NAME,
    ];
    const environment = machineEnvironment();
    // NODE_OPTIONS: for profiles by hand.
    const more =
      process.env['BENCH_NODE_OPTIONS'] === undefined ? {} : { NODE_OPTIONS: process.env['BENCH_NODE_OPTIONS'] };
    const child = spawn(this.#options.program, args, {
      detached: true,
      stdio: ['ignore', log, log],
      env: { ...environment, ...more, PATH: `${dirname(process.execPath)}:${environment['PATH'] ?? ''}` },
    });
    closeSync(log);
    if (child.pid === undefined) throw new Error(`cannot start ${this.#options.program}`);
    writeProcessFile(kubeletPidFile(instance), child.pid);
    this.#record = describeProcess(child.pid);
    child.unref();
  }

  get pid(): number {
    if (!isAlive(this.#record)) throw this.broken('does not run');
    return this.#record.pid;
  }

  broken(what: string): Error {
    return new Error(
      `the kubelet ${what}; the end of its log:\n${lastLines(this.#containerd.instance.kubeletLog, 15)}`,
    );
  }

  /** Runs `work` while the process is stopped. */
  asleep<T>(work: () => Promise<T>): Promise<T> {
    return whileStopped(this.pid, 400, work);
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    await stopProcess(this.#record, 5000);
  }

  cpuMs(): number {
    return processCpuMs(this.pid);
  }

  residentMib(): number {
    return residentMib(this.pid);
  }

  /**
   * Requests a path from the kubelet's server as an administrator; with `packed` it accepts gzip, as Prometheus does.
   */
  get(path: string, { packed = false }: { packed?: boolean } = {}): Promise<Answer> {
    const headers = packed ? { 'accept-encoding': 'gzip' } : {};
    return new Promise((resolve, reject) => {
      const outgoing = request(
        { host: '127.0.0.1', port: this.#port, path, headers, agent: this.#agent },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response
            .on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }))
            .on('error', reject);
        },
      );
      outgoing.on('error', reject).end();
    });
  }

  /** The number of requests that it has sent to the API server; undefined if it does not report it. */
  async apiRequests(): Promise<number | undefined> {
    const { status, body } = await this.get('/metrics');
    if (status !== 200) return undefined;
    return [...body.toString('utf8').matchAll(/^rest_client_requests_total\{.*\} (\S+)$/gm)].reduce(
      (sum, [, value]) => sum + Number(value),
      0,
    );
  }
}
