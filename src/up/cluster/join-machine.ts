/** `up --join HOST:PORT --token ...`: this machine becomes a node of a cluster that `up --listen` started on another one. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { nodes, secrets } from '../../api/client/resource-types.ts';
import { isApiError } from '../../api/status/api-status-error.ts';
import { systemClock } from '../../base/clock.ts';
import { errorMessage, KubeletError } from '../../base/errors.ts';
import { RESOLVED_CONF, writeAgentConfig } from '../agent.ts';
import type { Instance } from '../instance.ts';
import type { Family } from '../ip-families.ts';
import { familyOf } from '../ip-families.ts';
import { keepBridgeUp, setUpNetwork } from '../network.ts';
import type { ClusterClient } from './cluster-client.ts';
import { exists, openClusterClient } from './cluster-client.ts';
import { agentProgram, nodeStorageProgram } from './cluster-programs.ts';
import { stepLine } from './cluster-view.ts';
import { agentConfig, bootstrapConfig, writeBootstrapConfig } from './credentials.ts';
import { discoverAuthority } from './discover-cluster.ts';
import type { JoinOptions } from './join-cluster.ts';
import { whenReady } from './join-cluster.ts';
import type { JoinFacts, JoinFiles } from './join-facts.ts';
import { joinSecretKey, readJoinSecret } from './join-facts.ts';
import { networkOf } from './local-node.ts';
import {
  admitNames,
  checkOwnAddress,
  machineNetworkArguments,
  nameAddress,
  nameArguments,
  prepareMachineNetwork,
} from './machine-network.ts';
import type { Program, RunningProgram } from './program.ts';
import { keepRunning } from './program.ts';
import { prepareRegistryClient } from './registry.ts';
import { startNodeRuntime } from './runtime.ts';

export interface JoinByToken {
  /** `ADDRESS:PORT` of the API server. */
  readonly host: string;
  /** `ID.SECRET`. */
  readonly token: string;
  /** `sha256:...` of the authority's public key. */
  readonly caHash: string;
}

export interface JoinMachineOptions extends Omit<JoinOptions, 'kubeconfig' | 'endpoint'> {
  readonly by: JoinByToken;
  /** The address by which the other nodes reach this machine; absent: its address on the route to the API server. */
  readonly addresses: readonly string[] | undefined;
  /** For the program for names and services, added after our own arguments. */
  readonly nodeNetworkArgs: readonly string[];
}

/** Resolves when the node is ready. A machine that has joined before does not need the token again. */
export async function joinMachine(instance: Instance, options: JoinMachineOptions, signal: AbortSignal): Promise<void> {
  const { say, by, agentArgs } = options;
  const [startMs, sinceMs] = [systemClock.monotonicMs(), systemClock.nowMs()];
  const done = (text: string): void => say(stepLine(systemClock.monotonicMs() - startMs, text));
  const nodeName = options.nodeName ?? hostname().toLowerCase();
  for (const each of options.addresses ?? []) checkOwnAddress(each);
  const given = options.addresses ?? [await addressTowards(by.host)];
  const user = await prepareCredentials(instance, by, nodeName);
  const client = openClusterClient(user === 'node' ? agentConfig(instance) : bootstrapConfig(instance));
  try {
    const { facts, files } = await readFacts(client, by.host);
    if (user === 'token') await checkNodeName(client, nodeName);
    const families = facts.serviceRange.split(',').map(familyOf);
    const addresses = orderAddresses(given, families);
    const [address = ''] = addresses;
    done(`${by.host} lets this machine join as ${nodeName}, ${addresses.join(' and ')}`);
    const hasNames = facts.clusterDns.length > 0;
    await prepareMachine(instance, { facts, files, server: `https://${by.host}`, say });
    await startNodeRuntime(instance, { ...options, endpoint: undefined, network: 'later', signal });
    done('containerd runs');
    await writeAgentConfig(instance, `unix://${instance.containerdSocket}`, options.cgroupDriver, {
      ...{ address, requestServingCertificate: true, clientCaFile: authorityCopy(instance) },
      ...{
        clusterDns: hasNames ? families.map((family) => nameAddress(instance, family)) : [],
        clusterDomain: 'cluster.local',
      },
    });
    const resolvConf = existsSync(RESOLVED_CONF) ? [`--resolv-conf=${RESOLVED_CONF}`] : [];
    const start = (program: Program): RunningProgram => keepRunning(program, { clock: systemClock, signal, say });
    const place = { instance, addresses, nodeName };
    const programs = [
      start(agentProgram(place, undefined, agentArgs)),
      start(
        networkOf({ name: nodeName, instance, addresses }, facts, [
          ...machineNetworkArguments(instance, facts.overlayNumber),
          ...(hasNames ? nameArguments(instance, families) : []),
          ...(hasNames && facts.serviceRouting ? admitNames(instance, families) : []),
          ...resolvConf,
          ...options.nodeNetworkArgs,
        ]),
      ),
      ...(facts.storage ? [start(nodeStorageProgram(place))] : []),
    ];
    await Promise.all(programs.map(({ ready }) => ready));
    await whenReady(instance, { client, user: userOf(user, nodeName), nodeName, sinceMs }, signal);
    if (signal.aborted) return;
    done(`node ${nodeName} is ready`);
    say(`Stop it: ${options.stopCommand}. The node's object stays in the cluster: kubectl delete node ${nodeName}`);
  } finally {
    client.close();
  }
}

/** In the order of the cluster's families; one address for each. */
export function orderAddresses(given: readonly string[], families: readonly Family[]): readonly string[] {
  return families.map((family) => {
    const address = given.find((each) => familyOf(each) === family);
    if (address !== undefined) return address;
    const example = families.map((each) => (each === 'IPv4' ? '192.0.2.7' : '2001:db8::7')).join();
    throw new KubeletError(
      'Invalid',
      `the cluster has ${families.join(' and ')}, and this machine would join with ${given.join(' and ')}. Name its addresses: --listen ${example}`,
    );
  });
}

const userOf = (user: 'node' | 'token', nodeName: string): string =>
  user === 'node' ? `system:node:${nodeName}` : 'system:bootstrap:';

const authorityCopy = (instance: Instance): string => join(instance.nodeDir, 'ca.crt');

/** The credentials for all further requests: the node's own from an earlier run, or the token. */
async function prepareCredentials(
  instance: Instance,
  { host, token, caHash }: JoinByToken,
  nodeName: string,
): Promise<'node' | 'token'> {
  const server = `https://${host}`;
  mkdirSync(instance.nodeDir, { recursive: true, mode: 0o700 });
  const known = agentConfig(instance);
  if (existsSync(known) && existsSync(authorityCopy(instance)) && readFileSync(known, 'utf8').includes(server)) {
    const before = openClusterClient(known);
    try {
      await before.api.get(nodes, { namespace: '', name: nodeName });
      return 'node';
    } catch (error) {
      // They are expired, or belong to another cluster at this address. The token is used in that case. A node that was
      // deleted registers again.
      if (isApiError(error, 'NotFound')) return 'node';
    } finally {
      before.close();
    }
  }
  const ca = await discoverAuthority(host, caHash);
  writeFileSync(authorityCopy(instance), ca);
  const [id = '', secret = ''] = token.split('.');
  writeBootstrapConfig(instance, { server, ca, token: { id, secret } });
  return 'token';
}

async function readFacts({ api }: ClusterClient, host: string): Promise<{ facts: JoinFacts; files: JoinFiles }> {
  try {
    return readJoinSecret(await api.get(secrets, joinSecretKey));
  } catch (error) {
    if (isApiError(error, 'Unauthorized'))
      throw new KubeletError(
        'Invalid',
        `${host} does not accept the token: it has expired or was deleted. Print another command there: npm run up -- --print-join-command`,
        { cause: error },
      );
    if (isApiError(error, 'NotFound', 'Forbidden'))
      throw new KubeletError(
        'Invalid',
        `the cluster at ${host} was not started with up --listen. Join another cluster with --join KUBECONFIG`,
        { cause: error },
      );
    if (error instanceof KubeletError) throw error;
    throw new KubeletError('Unavailable', `${host} does not answer: ${errorMessage(error)}`, { cause: error });
  }
}

/** Two machines with the same name would both act as the same node. */
async function checkNodeName({ api }: ClusterClient, name: string): Promise<void> {
  if (!(await exists(api, nodes, { namespace: '', name }))) return;
  throw new KubeletError(
    'Conflict',
    `the cluster has a node ${name} already. If it is not this machine: --node-name OTHER. If it was: kubectl delete node ${name}`,
  );
}

async function prepareMachine(
  instance: Instance,
  {
    facts,
    files,
    server,
    say,
  }: {
    readonly facts: JoinFacts;
    readonly files: JoinFiles;
    readonly server: string;
    readonly say: (text: string) => void;
  },
): Promise<void> {
  for (const folder of [instance.runDir, instance.staticPodsDir, instance.cniConfDir])
    mkdirSync(folder, { recursive: true });
  const families = facts.serviceRange.split(',').map(familyOf);
  await setUpNetwork(instance, say, { pods: 'elsewhere', families });
  await keepBridgeUp(instance);
  await prepareMachineNetwork(instance, facts.overlayNumber, families);
  const asking = (config: string): string => config.replace(/^( *server: ).*$/m, `$1${server}`);
  writeFileSync(instance.nodeNetworkConfig, asking(files['node-network.conf']), { mode: 0o600 });
  writeFileSync(instance.nodeStorageConfig, asking(files['node-storage.conf']), { mode: 0o600 });
  await prepareRegistryClient(instance, {
    host: facts.registry,
    ca: files['registry-ca.crt'],
    certificate: files['registry-client.cert'],
    key: files['registry-client.key'],
  });
}

const CONNECT_MS = 10_000;

/** The local address of a connection to the API server. */
export function addressTowards(host: string): Promise<string> {
  const at = host.lastIndexOf(':');
  return new Promise((resolve, reject) => {
    const socket = createConnection({
      host: host.slice(0, at).replace(/^\[|\]$/g, ''),
      port: Number(host.slice(at + 1)),
    });
    const fail = (why: string): void => {
      socket.destroy();
      reject(
        new KubeletError(
          'Unavailable',
          `no connection to ${host}: ${why}. Is the cluster started with --listen, and its port open in the firewall?`,
        ),
      );
    };
    socket.setTimeout(CONNECT_MS, () => fail('no answer'));
    socket.once('error', (error) => fail(error.message));
    socket.once('connect', () => {
      const { localAddress } = socket;
      socket.destroy();
      if (localAddress === undefined) fail('the connection ended');
      else resolve(localAddress);
    });
  });
}
