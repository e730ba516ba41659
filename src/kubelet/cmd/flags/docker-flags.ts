/**
 * The flags of kubelets before Kubernetes 1.24, which called Docker directly. They start the dockershim in this agent.
 * Names, types and defaults are those of Kubernetes 1.23 (cmd/kubelet/app/options/container_runtime.go).
 */
import type { ConfigError } from '../config/config-error.ts';
import type { ParsedFlags } from './flags-parse.ts';
import type { FlagType } from './flags-types.ts';

export interface DockerFlags {
  readonly dockerEndpoint: string;
  readonly pauseImage: string;
  readonly cniConfigFolder: string;
  readonly cniPluginFolders: readonly string[];
}

/**
 * The note for flags that have an effect only with `--container-runtime=docker`, because other runtimes have their own
 * settings.
 */
const DOCKER_ONLY = 'Only with --container-runtime=docker: other runtimes have settings of their own for it.';

export const dockerFlagRows = [
  [
    'container-runtime',
    'string',
    'What runs containers: remote is the program behind --container-runtime-endpoint, docker is Docker Engine through a dockershim in this process. See docs/docker.md.',
    { default: 'remote', values: ['remote', 'docker'] },
  ],
  [
    'docker-endpoint',
    'string',
    `Unix socket of Docker Engine. ${DOCKER_ONLY}`,
    { default: 'unix:///var/run/docker.sock' },
  ],
  [
    'pod-infra-container-image',
    'string',
    `Image of the container that holds the namespaces of a pod. ${DOCKER_ONLY}`,
    { default: 'registry.k8s.io/pause:3.10.1' },
  ],
  ['network-plugin', 'string', `Kind of network plugin for pods. ${DOCKER_ONLY}`, { default: 'cni', values: ['cni'] }],
  [
    'cni-conf-dir',
    'string',
    `Folder of network configurations; the first valid one is used. ${DOCKER_ONLY}`,
    { default: '/etc/cni/net.d', completes: 'folder' },
  ],
  [
    'cni-bin-dir',
    'string',
    `Folders of network plugins, with commas between them. ${DOCKER_ONLY}`,
    { default: '/opt/cni/bin,/usr/lib/cni', completes: 'folder' },
  ],
] as const satisfies readonly (readonly [name: string, type: FlagType, help: string, extra: object])[];

const defaultOf = new Map<string, string>(dockerFlagRows.map(([name, , , extra]) => [name, extra.default]));

/** Reads the flags; undefined if the agent uses a CRI runtime. */
export function readDockerFlags({ values }: Pick<ParsedFlags, 'values'>): {
  readonly docker: DockerFlags | undefined;
  readonly errors: readonly ConfigError[];
} {
  const text = (name: string): string => {
    const value = values.get(name);
    return typeof value === 'string' ? value : (defaultOf.get(name) ?? '');
  };
  const runtime = text('container-runtime');
  if (runtime === 'remote') return { docker: undefined, errors: strayFlags(values) };
  if (runtime !== 'docker') return { docker: undefined, errors: [unknownRuntime(runtime)] };
  const docker: DockerFlags = {
    dockerEndpoint: text('docker-endpoint'),
    pauseImage: text('pod-infra-container-image'),
    cniConfigFolder: text('cni-conf-dir'),
    cniPluginFolders: text('cni-bin-dir').split(','),
  };
  return { docker, errors: dockerErrors(docker, text('network-plugin')) };
}

function unknownRuntime(runtime: string): ConfigError {
  const why =
    runtime === 'rkt'
      ? 'rkt was discontinued in 2020; run its images on containerd or Docker'
      : 'accepted are "remote", for every runtime that serves the CRI, and "docker"';
  return { flag: 'container-runtime', message: `unsupported container runtime "${runtime}": ${why}` };
}

const strayFlags = (values: ParsedFlags['values']): ConfigError[] =>
  dockerFlagRows
    .filter(([name]) => name !== 'container-runtime' && values.has(name))
    .map(([name]) => ({
      flag: name,
      message: `--${name} needs --container-runtime=docker: other runtimes have settings of their own for it`,
    }));

function dockerErrors(docker: DockerFlags, networkPlugin: string): ConfigError[] {
  const errors: ConfigError[] = [];
  if (networkPlugin !== 'cni')
    errors.push({
      flag: 'network-plugin',
      message: `unsupported network plugin "${networkPlugin}": accepted is "cni"; kubenet is the CNI plugins bridge, host-local and portmap in one configuration`,
    });
  if (!/^(unix:\/\/)?\//.test(docker.dockerEndpoint))
    errors.push({
      flag: 'docker-endpoint',
      message: `"${docker.dockerEndpoint}" is not a unix socket: --docker-endpoint wants unix:///path`,
    });
  if (docker.pauseImage === '')
    errors.push({ flag: 'pod-infra-container-image', message: '--pod-infra-container-image needs an image' });
  for (const [flag, folders] of [
    ['cni-conf-dir', [docker.cniConfigFolder]],
    ['cni-bin-dir', docker.cniPluginFolders],
  ] as const)
    for (const folder of folders.filter((each) => !each.startsWith('/')))
      errors.push({ flag, message: `--${flag} "${folder}" must be an absolute path` });
  return errors;
}
