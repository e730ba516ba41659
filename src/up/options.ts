/** The command line of `up` and `down`. */
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { DEFAULT_DATA_DIR } from './instance.ts';
import type { CgroupDriver } from './runtime-config.ts';

export const USAGE = `usage: npm run up -- [--data DIR] [--detach] [FLAGS]
       npm run down -- [--data DIR] [--purge]

A cluster of one node: control plane, agent, registry, names and routes of services, and an example of three nginx replicas.

  --data DIR          everything lives below this folder (default ${DEFAULT_DATA_DIR}, or $KUBELET_TS_DATA)
  --detach            return when all is ready and leave it running
  --standalone        a node of its own instead: no control plane, pods from a folder of manifests
  --join KUBECONFIG   the agent alone, as a node of the cluster that this kubeconfig leads to (an administrator's, or one to bootstrap with)
  --runtime-only      containerd and its network only
  --no-example        begin with an empty cluster
  --no-dns            no name service: bring CoreDNS, as the Service kube-dns in kube-system
  --no-service-routing
                      no rules for services: bring kube-proxy
  --node-name NAME    default: the name of this machine
  --node-labels K=V,...
                      labels of the node
  --kubelet-arg FLAG  any other flag of the agent, as often as wanted: --kubelet-arg=--v=4
  --container-runtime-endpoint unix:///SOCKET
                      use this runtime and start none
  --cgroup-driver     who makes the pods' cgroups: cgroupfs (default), or systemd where it is process 1
  --purge             of down: also remove images, manifests, logs and all that the cluster knows
`;

export interface CommandLine {
  readonly command: string | undefined;
  readonly dataDir: string;
  readonly help: boolean;
  readonly mode: 'cluster' | 'standalone' | 'join' | 'runtime-only';
  readonly joinConfig: string | undefined;
  readonly endpoint: string | undefined;
  readonly cgroupDriver: CgroupDriver;
  readonly detach: boolean;
  readonly purge: boolean;
  readonly example: boolean;
  readonly dns: boolean;
  readonly serviceRouting: boolean;
  readonly nodeName: string | undefined;
  readonly agentArgs: readonly string[];
  /** `up` itself behind a detached one: the flags it is started with. */
  readonly args: readonly string[];
}

/** Throws a TypeError with a code that begins with ERR_PARSE_ARGS when a flag is mistyped. */
export function parseCommandLine(args: readonly string[], environment: NodeJS.ProcessEnv): CommandLine {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      data: text,
      'container-runtime-endpoint': text,
      'cgroup-driver': { type: 'string', default: 'cgroupfs' },
      join: text,
      'node-name': text,
      'node-labels': text,
      'kubelet-arg': { type: 'string', multiple: true, default: [] },
      detach: flag,
      standalone: flag,
      'runtime-only': flag,
      'no-example': flag,
      'no-dns': flag,
      'no-service-routing': flag,
      purge: flag,
      help: flag,
    },
  });
  const given = {
    standalone: values.standalone,
    join: values.join !== undefined,
    'runtime-only': values['runtime-only'],
  };
  const modes = (['standalone', 'join', 'runtime-only'] as const).filter((mode) => given[mode]);
  if (modes.length > 1) throw mistyped(`--${modes.join(' and --')} exclude each other`);
  return {
    command: positionals[0],
    dataDir: resolve(values.data ?? environment['KUBELET_TS_DATA'] ?? DEFAULT_DATA_DIR),
    help: values.help,
    mode: modes[0] ?? 'cluster',
    joinConfig: values.join === undefined ? undefined : resolve(values.join),
    endpoint: values['container-runtime-endpoint'],
    cgroupDriver: cgroupDriverOf(values['cgroup-driver']),
    detach: values.detach,
    purge: values.purge,
    example: !values['no-example'],
    dns: !values['no-dns'],
    serviceRouting: !values['no-service-routing'],
    nodeName: values['node-name']?.toLowerCase(),
    agentArgs: [
      ...(values['node-labels'] === undefined ? [] : ['--node-labels', values['node-labels']]),
      ...values['kubelet-arg'],
    ],
    args,
  };
}

function cgroupDriverOf(text: string): CgroupDriver {
  if (text !== 'cgroupfs' && text !== 'systemd')
    throw mistyped(`--cgroup-driver must be cgroupfs or systemd, not "${text}"`);
  return text;
}

const mistyped = (message: string): TypeError =>
  Object.assign(new TypeError(message), { code: 'ERR_PARSE_ARGS_INVALID_OPTION_VALUE' });
