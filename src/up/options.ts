/** The command line of `up` and `down`. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { DEFAULT_DATA_DIR } from './instance.ts';
import { parseDurationMs } from '../api/duration.ts';
import { addressScope, canonicalIp, parseIp } from '../base/ip-address.ts';
import type { FamilyChoice } from './ip-families.ts';
import { familiesOf, familyChoices, familyOf } from './ip-families.ts';
import type { JoinByToken } from './cluster/join-machine.ts';
import type { CgroupDriver } from './runtime-config.ts';
import type { RuntimeHandlers } from './runtime-handlers.ts';
import { parseRuntimeHandlers } from './runtime-handlers.ts';

const DATA_USAGE = `  --data DIR          directory for all files (default ${DEFAULT_DATA_DIR}, or $KUBELET_TS_DATA)`;

const UP_USAGE = `usage: npm run up -- [--data DIR] [--detach] [FLAGS]

Starts a one-node cluster: control plane, agent, registry, cluster DNS, service routing, volumes on the disk, and an example with three nginx replicas.

${DATA_USAGE}
  --detach            return when everything is ready, and keep running in the background
  --standalone        start a node without a control plane, with pods from a directory of manifests
  --listen ADDRESS[,ADDRESS]
                      let other machines reach the cluster at this address of this machine, and join it; with --ip-family dual one of each family
  --print-join-command
                      print the command for another machine, for a cluster that runs with --listen, and a new token
  --token-ttl TIME    how long the token is valid (default 24h)
  --join HOST:PORT --token TOKEN --discovery-token-ca-cert-hash HASH
                      make this machine a node of that cluster; --listen names its address if it has several
  --join-control-plane --certificate-key KEY
                      with --join HOST:PORT: run an API server of the cluster here, too; with --print-join-command: print the command for that
  --join KUBECONFIG   start only the agent, as a node of the cluster in this kubeconfig (an administrator's or a bootstrap kubeconfig)
  --runtime-only      start only containerd and its network
  --ip-family FAMILY  addresses of pods, services and nodes: ipv4 (default), ipv6, or dual for both
  --nodes N           start N nodes, each with its own runtime, agent, host name and network (default: this machine as the only one)
  --no-example        start with an empty cluster
  --no-dns            do not serve DNS; install CoreDNS yourself, as the Service kube-dns in kube-system
  --no-service-routing
                      do not route services; install kube-proxy yourself
  --no-network-policy do not enforce NetworkPolicies; install a network plugin that does
  --no-storage        do not provision volumes; install a StorageClass with a provisioner yourself
  --node-name NAME    name of the node (default: the name of this machine)
  --node-labels K=V,...
                      labels of the node
  --kubelet-arg FLAG  any other flag of the agent, repeatable: --kubelet-arg=--v=4
  --control-plane-arg FLAG
                      any other flag of the control plane, repeatable: --control-plane-arg=--token-auth-file=/FILE
  --node-network-arg FLAG
                      any other flag of kubelet-node-network, repeatable: --node-network-arg=--dns-upstream=192.0.2.53
  --container-runtime-endpoint unix:///SOCKET
                      use this runtime instead of starting one
  --cgroup-driver     cgroup driver: cgroupfs (default), or systemd if systemd is process 1
  --runtime-handler NAME=PROGRAM
                      let pods with the RuntimeClass NAME run by this runtime, repeatable: gvisor=/usr/bin/runsc

Stop it with npm run down.
`;

const DOWN_USAGE = `usage: npm run down -- [--data DIR] [--purge]

Removes what up created: processes, containers, mounts, network, rules and cgroups. It does not touch anything else.

${DATA_USAGE}
  --purge             also remove images, manifests, logs, the cluster's state and the data of its volumes
`;

const STATUS_USAGE = `usage: node src/up/main.ts status [--data DIR]

Prints whether it runs, and which kernel objects (mounts, rules, cgroups ...) it has. The exit code is 3 if it does not run.

${DATA_USAGE}
`;

const usages: ReadonlyMap<string, string> = new Map([
  ['up', UP_USAGE],
  ['down', DOWN_USAGE],
  ['status', STATUS_USAGE],
]);

/** The text for a command, or for all of them. */
export const usageOf = (command: string | undefined): string =>
  usages.get(command ?? '') ?? [...usages.values()].join('\n');

/** The first argument; npm's scripts give it. */
export const commandOf = (args: readonly string[]): string | undefined =>
  args[0]?.startsWith('-') === false ? args[0] : undefined;

export interface CommandLine {
  readonly command: string | undefined;
  readonly dataDir: string;
  readonly help: boolean;
  readonly mode: 'cluster' | 'standalone' | 'join' | 'runtime-only';
  readonly joinConfig: string | undefined;
  /** The address of a cluster of `up` on another machine. */
  readonly joinToken: JoinByToken | undefined;
  /** One address, or two with both families, in their order. */
  readonly listen: readonly string[] | undefined;
  /** Undefined: as at the last start, or IPv4. */
  readonly ipFamily: FamilyChoice | undefined;
  readonly printJoinCommand: boolean;
  /**
   * With a token: this machine also runs an API server. With `printJoinCommand`: prints the command for such a machine.
   */
  readonly joinControlPlane: boolean;
  /** 64 hexadecimal digits. */
  readonly certificateKey: string | undefined;
  readonly tokenLifeMs: number;
  readonly endpoint: string | undefined;
  readonly cgroupDriver: CgroupDriver;
  /** Programs of runtime handlers beside runc, by name. */
  readonly runtimeHandlers: RuntimeHandlers;
  /** Undefined: the machine is the only node. */
  readonly nodes: number | undefined;
  readonly detach: boolean;
  readonly purge: boolean;
  readonly example: boolean;
  readonly dns: boolean;
  readonly serviceRouting: boolean;
  readonly networkPolicy: boolean;
  readonly storage: boolean;
  readonly nodeName: string | undefined;
  readonly agentArgs: readonly string[];
  readonly controlPlaneArgs: readonly string[];
  readonly nodeNetworkArgs: readonly string[];
  /** Flags of the `up` that runs in the background of a detached one. */
  readonly args: readonly string[];
}

const text = { type: 'string' } as const;
const flag = { type: 'boolean', default: false } as const;
const list = { type: 'string', multiple: true, default: [] as string[] } as const;

const flagTypes = {
  data: text,
  'container-runtime-endpoint': text,
  'cgroup-driver': { type: 'string', default: 'cgroupfs' },
  'runtime-handler': list,
  join: text,
  token: text,
  'discovery-token-ca-cert-hash': text,
  listen: text,
  'ip-family': text,
  'print-join-command': flag,
  'join-control-plane': flag,
  'certificate-key': text,
  'token-ttl': { type: 'string', default: '24h' },
  'node-name': text,
  nodes: text,
  'node-labels': text,
  'kubelet-arg': list,
  'control-plane-arg': list,
  'node-network-arg': list,
  detach: flag,
  standalone: flag,
  'runtime-only': flag,
  'no-example': flag,
  'no-dns': flag,
  'no-service-routing': flag,
  'no-network-policy': flag,
  'no-storage': flag,
  purge: flag,
  help: flag,
} as const;

/** Throws a TypeError with a code that begins with ERR_PARSE_ARGS when a flag is mistyped. */
export function parseCommandLine(args: readonly string[], environment: NodeJS.ProcessEnv): CommandLine {
  const command = commandOf(args);
  const { values, tokens } = parseArgs({
    args: [...(command === undefined ? args : args.slice(1))],
    tokens: true,
    options: flagTypes,
  });
  const stray = tokens.find((token) => token.kind === 'option' && !isFlagOf(command, token.name));
  if (stray?.kind === 'option') throw mistyped(`--${stray.name} is not a flag of ${command}`);
  const given = {
    standalone: values.standalone,
    join: values.join !== undefined,
    'runtime-only': values['runtime-only'],
  };
  const modes = (['standalone', 'join', 'runtime-only'] as const).filter((mode) => given[mode]);
  if (values['join-control-plane'] && !values['print-join-command'] && values.token === undefined)
    throw mistyped('--join-control-plane needs --join HOST:PORT with a token, or --print-join-command');
  if (values['control-plane-arg'].length > 0 && modes.length > 0 && !values['join-control-plane'])
    throw mistyped(`--control-plane-arg needs a control plane, and --${modes[0]} starts none`);
  if (modes.length > 1) throw mistyped(`--${modes.join(' and --')} exclude each other`);
  const ipFamily = ipFamilyOf(values['ip-family'], modes);
  const joinToken = joinTokenOf(values.join, values.token, values['discovery-token-ca-cert-hash']);
  const runtimeHandlers = parseRuntimeHandlers(values['runtime-handler']);
  if (typeof runtimeHandlers === 'string') throw mistyped(runtimeHandlers);
  if (Object.keys(runtimeHandlers).length > 0 && values['container-runtime-endpoint'] !== undefined)
    throw mistyped(
      '--runtime-handler is for the containerd that up starts: configure the handler in the runtime of --container-runtime-endpoint',
    );
  return {
    command,
    dataDir: resolve(values.data ?? environment['KUBELET_TS_DATA'] ?? DEFAULT_DATA_DIR),
    help: values.help,
    mode: modes[0] ?? 'cluster',
    joinConfig: values.join === undefined || joinToken !== undefined ? undefined : resolve(values.join),
    joinToken,
    listen: listenOf(values.listen, { modes, joinToken, endpoint: values['container-runtime-endpoint'], ipFamily }),
    ipFamily,
    printJoinCommand: values['print-join-command'],
    joinControlPlane: values['join-control-plane'],
    certificateKey: certificateKeyOf(values['certificate-key'], values['join-control-plane']),
    tokenLifeMs: tokenLifeOf(values['token-ttl']),
    endpoint: values['container-runtime-endpoint'],
    cgroupDriver: cgroupDriverOf(values['cgroup-driver']),
    runtimeHandlers,
    nodes: nodesOf(values.nodes, { modes, endpoint: values['container-runtime-endpoint'], listen: values.listen }),
    detach: values.detach,
    purge: values.purge,
    example: !values['no-example'],
    dns: !values['no-dns'],
    serviceRouting: !values['no-service-routing'],
    networkPolicy: !values['no-network-policy'],
    storage: !values['no-storage'],
    nodeName: values['node-name']?.toLowerCase(),
    agentArgs: [
      ...(values['node-labels'] === undefined ? [] : ['--node-labels', values['node-labels']]),
      ...values['kubelet-arg'],
    ],
    controlPlaneArgs: values['control-plane-arg'],
    nodeNetworkArgs: values['node-network-arg'],
    args,
  };
}

/** More nodes would not fit into the memory of usual machines. */
const MAX_NODES = 16;

function nodesOf(
  text: string | undefined,
  {
    modes,
    endpoint,
    listen,
  }: { readonly modes: readonly string[]; readonly endpoint: string | undefined; readonly listen: string | undefined },
): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,2}$/.test(text) || Number(text) < 1 || Number(text) > MAX_NODES)
    throw mistyped(`--nodes must be a number from 1 to ${MAX_NODES}, not "${text}"`);
  if (modes.length > 0) throw mistyped(`--nodes and --${modes[0]} exclude each other`);
  if (endpoint !== undefined)
    throw mistyped('--nodes and --container-runtime-endpoint exclude each other: each node has its own runtime');
  if (listen !== undefined)
    throw mistyped('--nodes and --listen exclude each other: nodes in namespaces are not reached from other machines');
  return Number(text);
}

/** Without a token, `--join` names a kubeconfig. */
function joinTokenOf(
  host: string | undefined,
  token: string | undefined,
  caHash: string | undefined,
): JoinByToken | undefined {
  if (token === undefined && caHash === undefined) return undefined;
  if (host === undefined) throw mistyped('--token and --discovery-token-ca-cert-hash need --join HOST:PORT');
  if (!/^(?:[A-Za-z0-9.-]+|\[[\da-fA-F:.]+\]):\d{1,5}$/.test(host))
    throw mistyped(`--join with a token needs HOST:PORT, not "${host}"`);
  if (!/^[a-z0-9]{6}\.[a-z0-9]{16}$/.test(token ?? ''))
    throw mistyped('--token must be six letters and digits, a dot, and sixteen letters and digits');
  if (!/^sha256:[0-9a-f]{64}$/.test(caHash ?? ''))
    throw mistyped('--discovery-token-ca-cert-hash must be sha256: and 64 hexadecimal digits');
  return { host, token: token ?? '', caHash: caHash ?? '' };
}

function listenOf(
  address: string | undefined,
  {
    modes,
    joinToken,
    endpoint,
    ipFamily,
  }: {
    readonly modes: readonly string[];
    readonly joinToken: JoinByToken | undefined;
    readonly endpoint: string | undefined;
    readonly ipFamily: FamilyChoice | undefined;
  },
): readonly string[] | undefined {
  if (joinToken !== undefined && endpoint !== undefined)
    throw mistyped(
      '--container-runtime-endpoint and --token exclude each other: the node needs the network of its own runtime',
    );
  if (address === undefined) return undefined;
  const addresses = address.split(',').map((text) => canonicalIp(text) ?? '');
  if (addresses.some((ip) => !isUsable(ip)))
    throw mistyped(
      `--listen must be an address of this machine, or one of each IP family, not "${address}": certificates and nodes name it`,
    );
  const given = new Set(addresses.map(familyOf));
  if (given.size < addresses.length) throw mistyped(`--listen names two addresses of ${familyOf(addresses[0] ?? '')}`);
  // A machine that joins learns the families from the cluster.
  const wanted = joinToken === undefined ? familiesOf(ipFamily ?? 'ipv4') : [...given];
  const missing = wanted.find((family) => !given.has(family));
  if (missing !== undefined)
    throw mistyped(
      `--listen needs an ${missing} address: --ip-family is ${ipFamily ?? 'ipv4'}, and ${address} is not one`,
    );
  const stray = addresses.find((ip) => !wanted.includes(familyOf(ip)));
  if (stray !== undefined)
    throw mistyped(`--listen ${stray}: the cluster has no ${familyOf(stray)}; start it with --ip-family dual`);
  if (modes.length > 0 && joinToken === undefined) throw mistyped(`--listen and --${modes[0]} exclude each other`);
  if (endpoint !== undefined)
    throw mistyped(
      '--listen and --container-runtime-endpoint exclude each other: the node needs the network of its own runtime',
    );
  return wanted.flatMap((family) => addresses.filter((ip) => familyOf(ip) === family));
}

/** Not the wildcard address, and no loopback or link-local address. */
function isUsable(ip: string): boolean {
  const bytes = parseIp(ip);
  return bytes !== undefined && addressScope(bytes) === 'other';
}

function ipFamilyOf(text: string | undefined, modes: readonly string[]): FamilyChoice | undefined {
  if (text === undefined) return undefined;
  const choice = familyChoices.find((each) => each === text);
  if (choice === undefined) throw mistyped(`--ip-family must be ${familyChoices.join(', ')}, not "${text}"`);
  if (modes.length > 0)
    throw mistyped(`--ip-family is for a cluster of its own: --${modes[0]} takes part in one, or has none`);
  return choice;
}

function certificateKeyOf(text: string | undefined, joinControlPlane: boolean): string | undefined {
  if (text === undefined) return undefined;
  if (!joinControlPlane) throw mistyped('--certificate-key needs --join-control-plane');
  if (!/^[0-9a-f]{64}$/.test(text)) throw mistyped('--certificate-key must be 64 hexadecimal digits');
  return text;
}

function tokenLifeOf(text: string): number {
  const lifeMs = parseDurationMs(text);
  if (lifeMs === undefined || lifeMs <= 0) throw mistyped(`--token-ttl must be a time such as 2h30m, not "${text}"`);
  return lifeMs;
}

function isFlagOf(command: string | undefined, flag: string): boolean {
  if (flag === 'data' || flag === 'help' || command === undefined) return true;
  if (command === 'up') return flag !== 'purge';
  return command === 'down' && flag === 'purge';
}

function cgroupDriverOf(text: string): CgroupDriver {
  if (text !== 'cgroupfs' && text !== 'systemd')
    throw mistyped(`--cgroup-driver must be cgroupfs or systemd, not "${text}"`);
  return text;
}

const mistyped = (message: string): TypeError =>
  Object.assign(new TypeError(message), { code: 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE' });
