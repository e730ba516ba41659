// A whole control plane as its own process, with fake nodes and the real kubectl, for tests of what users see.
import { spawn } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePort } from '../../../src/up/agent.ts';
import { machineEnvironment } from '../../../src/up/commands.ts';
import { describeProcess, isAlive, signalProcess, stopProcess, waitUntil } from '../../../src/up/processes.ts';
import { builtProgram, clusterTemplate } from '../../integration/support/agent-build.ts';
import { clusterFlags, copyClusterTemplate } from '../../integration/support/cluster-template.ts';
import type { TestEtcd } from '../../integration/support/etcd.ts';
import { endWithThisProcess } from '../../integration/support/test-child.ts';
import { namespaces } from '../../../src/api/client/resource-types.ts';
import { HttpApiClient } from '../../../src/client/http-api-client.ts';
import { HttpTransport } from '../../../src/client/http-transport.ts';
import { readKubeconfig } from '../../../src/client/kubeconfig.ts';

export interface KubectlResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface TestClusterOptions {
  /** The initial number of fake nodes. */
  readonly nodes?: number;
  /** Absent: SQLite. */
  readonly etcd?: Pick<TestEtcd, 'endpoint'>;
  readonly flags?: readonly string[];
  /** The data folder of an existing cluster, for another server with the same certificates and store. */
  readonly folder?: string;
}

export interface TestCluster {
  readonly folder: string;
  readonly port: number;
  /** An administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** Runs kubectl with arguments, standard input and additional variables. Returns the result even if it fails. */
  tryKubectl(
    args: readonly string[],
    input?: string,
    environment?: Readonly<Record<string, string>>,
  ): Promise<KubectlResult>;
  /** Like `tryKubectl`, but returns the standard output, and throws an error with all output if it fails. */
  kubectl(args: readonly string[], input?: string, environment?: Readonly<Record<string, string>>): Promise<string>;
  /** Runs a command that does not end by itself, until `enough` accepts its output, which is returned. */
  follow(args: readonly string[], enough: (stdout: string) => boolean): Promise<string>;
  /** A client with an administrator's rights, over HTTP. */
  client(): HttpApiClient;
  /** Creates a namespace over HTTP, because starting kubectl takes time. */
  createNamespace(name: string): Promise<void>;
  /** Kills the server with SIGKILL, like a power cut. */
  kill(): Promise<void>;
  /** Starts the server again on the same port and folder. */
  start(): Promise<void>;
  /** The output of the process. */
  log(): string;
  pid(): number;
  stop(): Promise<void>;
}

const startLimitMs = 60_000;
/**
 * The home folder of kubectl, in place of that of the user who runs the tests; it is removed when this process ends.
 */
export const kubectlHome = mkdtempSync(path.join(tmpdir(), 'kts-kubectl-'));
process.on('exit', () => rmSync(kubectlHome, { recursive: true, force: true }));

const kubectlLimitMs = 120_000;

export async function startCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  const folder = options.folder ?? mkdtempSync(path.join(tmpdir(), 'kts-cluster-'));
  const port = await freePort(0);
  const logFile = path.join(folder, `control-plane-${port}.log`);
  const kubeconfig = path.join(folder, 'super-admin.conf');
  const program = await builtProgram('kubelet-control-plane');
  const store =
    options.etcd === undefined ? [] : ['--storage-backend=etcd3', `--etcd-servers=${options.etcd.endpoint}`];
  const flags = [...clusterFlags(folder, port), ...store, ...(options.flags ?? [])];
  if (options.folder === undefined)
    copyClusterTemplate(await clusterTemplate(), folder, {
      port,
      withStore: options.etcd === undefined && options.flags === undefined,
    });
  let record: ReturnType<typeof describeProcess>;
  const transports: HttpTransport[] = [];
  const log = (): string => readFileSync(logFile, 'utf8');
  const start = async (): Promise<void> => {
    const before = isWritten(logFile) ? log().length : 0;
    const out = openSync(logFile, 'a');
    const child = spawn(program, flags, { stdio: ['ignore', out, out], env: machineEnvironment() });
    closeSync(out);
    endWithThisProcess(child);
    record = describeProcess(child.pid ?? 0);
    const ready = await waitUntil(
      () => child.exitCode !== null || log().slice(before).includes('"serving"'),
      startLimitMs,
      10,
    );
    if (!ready || child.exitCode !== null) throw new Error(`the control plane did not start:\n${log().slice(before)}`);
  };
  const words = (args: readonly string[]): readonly string[] => [
    `--server=https://127.0.0.1:${port}`,
    `--kubeconfig=${kubeconfig}`,
    `--cache-dir=${path.join(folder, `cache-${port}`)}`,
    ...args,
  ];
  const run: TestCluster['tryKubectl'] = (args, input, environment) => runKubectl(words(args), { input, environment });
  await start();
  const nodes = options.nodes === undefined ? undefined : await startFakeNodes(kubeconfig, options.nodes, folder);
  const client = (): HttpApiClient => {
    const transport = new HttpTransport(
      { ...readKubeconfig(kubeconfig), server: `https://127.0.0.1:${port}` },
      { userAgent: 'e2e' },
    );
    transports.push(transport);
    return new HttpApiClient(transport);
  };
  let own: HttpApiClient | undefined;
  return {
    folder,
    port,
    kubeconfig,
    tryKubectl: run,
    kubectl: async (args, input, environment) => {
      const { code, stdout, stderr } = await run(args, input, environment);
      if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: exit code ${code}\n${stdout}${stderr}`);
      return stdout;
    },
    follow: async (args, enough) => (await runKubectl(words(args), { enough })).stdout,
    client,
    createNamespace: async (name) => {
      await (own ??= client()).create(namespaces, { metadata: { name, namespace: '', uid: '' }, spec: {} });
    },
    kill: async () => {
      if (record === undefined) return;
      signalProcess(record, 'SIGKILL');
      await waitUntil(() => !isAlive(record), 10_000, 10);
    },
    start,
    log,
    pid: () => record?.pid ?? 0,
    stop: async () => {
      await nodes?.();
      for (const transport of transports) transport.close();
      await stopProcess(record, 15_000);
      if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

function isWritten(file: string): boolean {
  try {
    return readFileSync(file).length >= 0;
  } catch {
    return false; // Not yet made.
  }
}

/** Resolves when they are registered. Returns a function that stops them. */
export async function startFakeNodes(
  kubeconfig: string,
  count: number,
  folder: string,
  flags: readonly string[] = [],
): Promise<(() => Promise<void>) & { readonly pid: number }> {
  const logFile = path.join(folder, `fake-nodes-${Date.now()}.log`);
  const out = openSync(logFile, 'a');
  const child = spawn(await builtProgram('fake-nodes'), [String(count), `--kubeconfig=${kubeconfig}`, ...flags], {
    stdio: ['ignore', out, out],
    env: machineEnvironment(),
  });
  closeSync(out);
  endWithThisProcess(child);
  const record = describeProcess(child.pid ?? 0);
  const ready = await waitUntil(
    () => child.exitCode !== null || readFileSync(logFile, 'utf8').includes('nodes are ready'),
    startLimitMs,
    50,
  );
  if (!ready || child.exitCode !== null)
    throw new Error(`the fake nodes did not start:\n${readFileSync(logFile, 'utf8')}`);
  return Object.assign(() => stopProcess(record, 10_000), { pid: child.pid ?? 0 });
}

interface KubectlOptions {
  readonly input?: string | undefined;
  readonly environment?: Readonly<Record<string, string>> | undefined;
  readonly enough?: (stdout: string) => boolean;
}

function runKubectl(args: readonly string[], { input, environment, enough }: KubectlOptions): Promise<KubectlResult> {
  return new Promise((resolve, reject) => {
    const child = spawn('kubectl', args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...machineEnvironment(), HOME: kubectlHome, KUBECTL_EXTERNAL_DIFF: 'diff -u', ...environment },
      timeout: kubectlLimitMs,
    });
    let [stdout, stderr] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      stdout += text;
      if (enough?.(stdout) === true) child.kill();
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code: code ?? -1, stdout, stderr }));
    // A command that reads nothing may be gone before it is written to.
    child.stdin.on('error', () => undefined).end(input ?? '');
  });
}
