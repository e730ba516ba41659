/** `up --join KUBECONFIG`: starts only the agent, as a node of an existing cluster. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { selfSubjectReviews, services } from '../../api/client/resource-types.ts';
import { systemClock } from '../../base/clock.ts';
import { errorMessage, KubeletError } from '../../base/errors.ts';
import { isApiError } from '../../api/status/api-status-error.ts';
import { readKubeconfig } from '../../client/kubeconfig.ts';
import { kubeletProgram, nodeNameArguments, writeAgentConfig } from '../agent.ts';
import type { Instance } from '../instance.ts';
import { waitUntil } from '../processes.ts';
import type { CgroupDriver } from '../runtime-config.ts';
import type { RuntimeHandlers } from '../runtime-handlers.ts';
import { kubeletPidFile } from '../teardown.ts';
import type { ClusterClient } from './cluster-client.ts';
import { applyObjects, openClusterClient, whenNodeReady } from './cluster-client.ts';
import { bootstrapTokenSecret } from './cluster-objects.ts';
import { stepLine } from './cluster-view.ts';
import { agentConfig, bootstrapConfig, newBootstrapToken, writeBootstrapConfig } from './credentials.ts';
import { keepRunning } from './program.ts';
import { startNodeRuntime } from './runtime.ts';

export interface JoinOptions {
  readonly kubeconfig: string;
  readonly endpoint: string | undefined;
  readonly cgroupDriver: CgroupDriver;
  readonly runtimeHandlers: RuntimeHandlers;
  readonly nodeName: string | undefined;
  readonly agentArgs: readonly string[];
  readonly stopCommand: string;
  readonly say: (message: string) => void;
}

/**
 * Resolves when the node is ready. The agent is supervised until `signal` aborts. Rejects immediately when the API
 * server does not answer or rejects the credentials.
 */
export async function joinCluster(instance: Instance, options: JoinOptions, signal: AbortSignal): Promise<void> {
  const { say, agentArgs, cgroupDriver, runtimeHandlers, kubeconfig } = options;
  const startMs = systemClock.monotonicMs();
  const startWallMs = systemClock.nowMs();
  const done = (text: string): void => say(stepLine(systemClock.monotonicMs() - startMs, text));
  const nodeName = options.nodeName ?? hostname().toLowerCase();
  const access = readKubeconfig(kubeconfig);
  const client = openClusterClient(kubeconfig);
  try {
    const user = await whoAmI(client, access.server);
    done(`${access.server} accepts this node as ${user}`);
    for (const folder of [instance.runDir, instance.nodeDir, instance.staticPodsDir])
      mkdirSync(folder, { recursive: true });
    const clientCaFile = join(instance.nodeDir, 'ca.crt');
    if (access.ca === undefined)
      throw new KubeletError(
        'Invalid',
        `${kubeconfig} names no certificate authority, so the node cannot authenticate the requests of the API server; add certificate-authority-data`,
      );
    writeFileSync(clientCaFile, access.ca);
    const credentials = await nodeCredentials(instance, {
      client,
      access: { server: access.server, ca: access.ca },
      user,
      nodeName,
      kubeconfig,
    });
    const [{ endpoint }, clusterDns] = await Promise.all([
      startNodeRuntime(instance, { endpoint: options.endpoint, cgroupDriver, runtimeHandlers, say, signal }),
      findNameService(client),
    ]);
    done(`the runtime runs on ${endpoint}`);
    if (clusterDns === undefined)
      say(
        'the cluster has no visible Service kube-dns: pods use the name servers of this machine, or those of --kubelet-arg=--cluster-dns=ADDRESS',
      );
    const { port } = await writeAgentConfig(instance, endpoint, cgroupDriver, {
      clientCaFile,
      clusterDns: clusterDns === undefined ? [] : [clusterDns],
      clusterDomain: 'cluster.local',
    });
    const agent = keepRunning(
      {
        name: 'the agent',
        command: kubeletProgram,
        args: [
          '--config',
          instance.kubeletConfig,
          '--root-dir',
          instance.kubeletRoot,
          '--cert-dir',
          join(instance.nodeDir, 'pki'),
          ...credentials,
          ...nodeNameArguments(nodeName),
          ...agentArgs,
        ],
        log: instance.kubeletLog,
        pidFile: kubeletPidFile(instance),
      },
      { clock: systemClock, signal, say },
    );
    await agent.ready;
    await whenReady(instance, { client, user, nodeName, sinceMs: startWallMs }, signal);
    if (signal.aborted) return;
    done(`node ${nodeName} is ready; its server is on port ${port}, its log ${instance.kubeletLog}`);
    say(`Stop it: ${options.stopCommand}. The node's object stays in the cluster: kubectl delete node ${nodeName}`);
  } finally {
    client.close();
  }
}

/**
 * A bootstrap user may not read the node. The node is therefore read with its own credentials, which it gets when it
 * joins.
 */
export async function whenReady(
  instance: Instance,
  joining: Pick<Joining, 'client' | 'user' | 'nodeName'> & { readonly sinceMs: number },
  signal: AbortSignal,
): Promise<void> {
  const { client, user, nodeName, sinceMs } = joining;
  if (!user.startsWith('system:bootstrap:')) return whenNodeReady(client.api, nodeName, { sinceMs, signal });
  while (!signal.aborted && !(await waitUntil(() => signal.aborted || existsSync(agentConfig(instance)), 60_000, 50)));
  if (signal.aborted) return;
  const node = openClusterClient(agentConfig(instance));
  try {
    await whenNodeReady(node.api, nodeName, { sinceMs, signal });
  } finally {
    node.close();
  }
}

interface Joining {
  readonly client: ClusterClient;
  readonly access: { readonly server: string; readonly ca: string };
  readonly user: string;
  readonly nodeName: string;
  readonly kubeconfig: string;
}

/**
 * The agent's flags. If the user may create tokens, a token is created for the node, so that the node gets its own
 * identity and does not use the administrator's.
 */
async function nodeCredentials(
  instance: Instance,
  { client, access, user, nodeName, kubeconfig }: Joining,
): Promise<string[]> {
  if (user === `system:node:${nodeName}`) return ['--kubeconfig', kubeconfig];
  const flags = (bootstrap: string): string[] => [
    '--kubeconfig',
    agentConfig(instance),
    '--bootstrap-kubeconfig',
    bootstrap,
  ];
  if (user.startsWith('system:bootstrap:')) return flags(kubeconfig);
  if (user.startsWith('system:node:'))
    throw new KubeletError(
      'Invalid',
      `this kubeconfig is of ${user}, and this node is called ${nodeName}: say --node-name ${user.slice('system:node:'.length)}`,
    );
  const token = newBootstrapToken(systemClock.nowMs());
  await applyObjects(client.api, [bootstrapTokenSecret(token)]);
  writeBootstrapConfig(instance, { ...access, token });
  return flags(bootstrapConfig(instance));
}

async function whoAmI({ api }: ClusterClient, server: string): Promise<string> {
  try {
    const review = await api.create(selfSubjectReviews, { metadata: { name: '', namespace: '', uid: '' } });
    return review.status?.userInfo?.username ?? 'unknown user';
  } catch (error) {
    if (isApiError(error, 'Unauthorized'))
      throw new KubeletError('Invalid', `${server} does not accept the credentials of this kubeconfig`, {
        cause: error,
      });
    throw new KubeletError('Unavailable', `the API server does not answer: ${errorMessage(error)}`, { cause: error });
  }
}

/** The DNS address for pods: that of kubeadm's Service, or of CoreDNS with the same name. */
async function findNameService({ api }: ClusterClient): Promise<string | undefined> {
  try {
    return (await api.get(services, { namespace: 'kube-system', name: 'kube-dns' })).spec.clusterIP;
  } catch {
    // The credentials of a node may not allow reading it. In that case, use --kubelet-arg=--cluster-dns=ADDRESS.
    return undefined;
  }
}
