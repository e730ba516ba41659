// The agent as a node of a cluster: the embedded control plane and the real agent as processes, on a private
// containerd.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { silentLogger } from '../../../src/base/log.ts';
import { ensureAuthority } from '../../../src/control-plane/pki/authority-files.ts';
import { ensureKubeconfig } from '../../../src/control-plane/pki/issued-files.ts';
import type { TestCluster, TestClusterOptions } from '../../e2e/support/cluster.ts';
import { startCluster } from '../../e2e/support/cluster.ts';
import { eventually } from '../../e2e/support/eventually.ts';
import type { TestAgentOptions } from './agent.ts';
import { NODE, TestAgent } from './agent.ts';
import type { TestContainerd, TestContainerdOptions } from './containerd.ts';
import { startContainerd } from './containerd.ts';
import { startTogether } from './start-together.ts';

export interface ClusterFixture {
  readonly containerd: TestContainerd;
  readonly cluster: TestCluster;
  readonly agent: TestAgent;
  /** The node's kubeconfig: user system:node:NODE, group system:nodes, signed by the cluster's authority. */
  readonly nodeKubeconfig: string;
}

export interface ClusterFixtureOptions extends TestContainerdOptions {
  readonly cluster?: TestClusterOptions;
  readonly agent?: TestAgentOptions;
  /** Creates the runtime endpoint for the agent after containerd has started; it is stopped with the fixture. */
  readonly runtime?: (containerd: TestContainerd) => Promise<{ endpoint: string; close(): void }>;
}

/** Writes a kubeconfig as bootstrap would have created it on the node. */
export async function writeNodeKubeconfig(
  cluster: Pick<TestCluster, 'folder' | 'port'>,
  file: string,
  nodeName = NODE,
): Promise<string> {
  const nowMs = Date.now();
  const authority = await ensureAuthority(join(cluster.folder, 'pki'), nowMs);
  const identity = {
    commonName: `system:node:${nodeName}`,
    organizations: ['system:nodes'],
    server: `https://127.0.0.1:${cluster.port}`,
  };
  await ensureKubeconfig(file, identity, { authority, nowMs, log: silentLogger });
  return file;
}

/** Starts all three. When this resolves, the node is Ready. */
export async function startClusterAgent(
  options: ClusterFixtureOptions,
): Promise<ClusterFixture & { stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'kts-node-'));
  const [containerd, cluster] = await startTogether(startContainerd(options), startCluster(options.cluster));
  let runtime: { endpoint: string; close(): void } | undefined;
  let agent: TestAgent | undefined;
  const stop = async (): Promise<void> => {
    try {
      await cluster.tryKubectl([
        'delete',
        'pods',
        '--all',
        '--all-namespaces',
        '--grace-period=1',
        '--wait=false',
        '--ignore-not-found',
      ]);
      await agent?.stop();
    } finally {
      runtime?.close();
      await containerd.stop();
      await cluster.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  };
  try {
    const nodeKubeconfig = await writeNodeKubeconfig(cluster, join(folder, 'kubelet.conf'));
    runtime = await options.runtime?.(containerd);
    agent = await TestAgent.prepare(containerd, {
      ...(runtime !== undefined && { endpoint: runtime.endpoint }),
      ...options.agent,
      args: ['--kubeconfig', nodeKubeconfig, ...(options.agent?.args ?? [])],
    });
    await agent.start();
    await nodeReady(cluster);
    return { containerd, cluster, agent, nodeKubeconfig, stop };
  } catch (error) {
    await stop().catch(() => undefined);
    throw new Error(
      `the agent did not become a ready node; the end of its log:\n${agent?.log.slice(-4000) ?? 'not started'}`,
      { cause: error },
    );
  }
}

export async function nodeReady(cluster: TestCluster, nodeName = NODE): Promise<void> {
  await eventually(
    () => cluster.kubectl(['wait', `node/${nodeName}`, '--for=condition=Ready', '--timeout=20s']),
    30_000,
  );
}

/** Must be called at the top of a test file; the fields are set when tests run. At the end nothing may be left. */
export function clusterFixture(options: ClusterFixtureOptions): ClusterFixture {
  const fixture = {} as ClusterFixture & { stop?: () => Promise<void> };
  before(async () => void Object.assign(fixture, await startClusterAgent(options)));
  after(() => fixture.stop?.());
  return fixture;
}
