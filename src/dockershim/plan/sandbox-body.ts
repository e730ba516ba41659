import { KubeletError } from '../../base/errors.ts';
import { NamespaceMode } from '../../cri/generated/cri-v1.ts';
import type { PodSandboxConfig } from '../../cri/generated/cri-v1.ts';
import type { CreateContainerBody, HostConfig } from '../engine/docker-types.ts';
import { labelKeys, writeLabels } from './docker-labels.ts';

/** The kernel kills the sandbox after everything else of its pod (upstream: qos/policy.go PodInfraOOMAdj). */
const SANDBOX_OOM_SCORE = -998;
/** Enough processor time for `pause` (cri-dockerd: core/sandbox_helpers.go defaultSandboxCPUshares). */
const SANDBOX_CPU_SHARES = 2;

export interface SandboxParts {
  readonly config: PodSandboxConfig;
  readonly pauseImage: string;
  readonly runtimeHandler: string;
  readonly securityOpt: readonly string[];
  readonly createdAtNanos: bigint;
  /** The lowest OOM score adjustment that the runtime may set on this machine. */
  readonly lowestOomScore: number;
}

/** Common to all containers of the shim: a log driver with limited size, and no restarts by Docker. */
export const ownHostConfig = {
  LogConfig: { Type: 'json-file', Config: { 'max-size': '20m', 'max-file': '2' } },
  RestartPolicy: { Name: 'no' },
} as const satisfies HostConfig;

/** The container that holds the namespaces of a pod (cri-dockerd: core/sandbox_helpers.go makeSandboxDockerConfig). */
export function sandboxBody(parts: SandboxParts): CreateContainerBody {
  const { config, pauseImage, runtimeHandler, securityOpt } = parts;
  const linux = config.linux;
  const security = linux?.securityContext;
  const namespaces = security?.namespaceOptions;
  refuseUserNamespace(namespaces?.usernsOptions?.mode);
  const isHostNetwork = namespaces?.network === NamespaceMode.NODE;
  const { servers = [], searches = [], options = [] } = config.dnsConfig ?? {};
  return {
    Image: pauseImage,
    ...(!isHostNetwork && config.hostname !== '' && { Hostname: config.hostname }),
    ...userOf(security?.runAsUser?.value, security?.runAsGroup?.value),
    Labels: writeLabels(config.labels, config.annotations, {
      [labelKeys.type]: 'podsandbox',
      [labelKeys.createdAt]: String(parts.createdAtNanos),
      ...(runtimeHandler !== '' && { [labelKeys.runtimeHandler]: runtimeHandler }),
    }),
    Healthcheck: { Test: ['NONE'] },
    HostConfig: {
      ...ownHostConfig,
      // No limits: the `resources` of a sandbox are those of its pod, and the pod's cgroup enforces them. A limit here
      // would stay when the pod's limits are changed.
      CpuShares: SANDBOX_CPU_SHARES,
      ...(linux !== undefined && linux.cgroupParent !== '' && { CgroupParent: linux.cgroupParent }),
      OomScoreAdj: Math.max(SANDBOX_OOM_SCORE, parts.lowestOomScore),
      NetworkMode: isHostNetwork ? 'host' : 'none',
      ...(isHostNetwork && { UTSMode: 'host' }),
      PidMode: namespaces?.pid === NamespaceMode.NODE ? 'host' : '',
      IpcMode: namespaces?.ipc === NamespaceMode.NODE ? 'host' : 'shareable',
      Privileged: security?.privileged ?? false,
      ReadonlyRootfs: security?.readonlyRootfs ?? false,
      GroupAdd: (security?.supplementalGroups ?? []).map(String),
      SecurityOpt: securityOpt,
      Sysctls: linux?.sysctls ?? {},
      Dns: servers,
      DnsSearch: searches,
      DnsOptions: options,
      ...(runtimeHandler !== '' && runtimeHandler !== 'docker' && { Runtime: runtimeHandler }),
    },
  };
}

function userOf(user: bigint | undefined, group: bigint | undefined): { readonly User?: string } {
  if (user !== undefined) return { User: group === undefined ? `${user}` : `${user}:${group}` };
  if (group !== undefined)
    throw new KubeletError('Invalid', 'the sandbox has a group and no user: Docker needs both, or a user alone');
  return {};
}

/** Docker remaps users for the whole engine or not at all. */
export function refuseUserNamespace(mode: NamespaceMode | undefined): void {
  if (mode === NamespaceMode.POD)
    throw new KubeletError(
      'Unimplemented',
      'Docker has no user namespaces for single pods: leave hostUsers unset or true, or run the pod on containerd',
    );
}

/** The pod's resolv.conf. Docker's own would add options, and refuses long lists (cri-dockerd: rewriteResolvFile). */
export function resolvConf(config: PodSandboxConfig): string | undefined {
  const { servers = [], searches = [], options = [] } = config.dnsConfig ?? {};
  if (servers.length === 0 && searches.length === 0 && options.length === 0) return undefined;
  return [
    ...(searches.length > 0 ? [`search ${searches.join(' ')}`] : []),
    ...servers.map((server) => `nameserver ${server}`),
    ...(options.length > 0 ? [`options ${options.join(' ')}`] : []),
    '',
  ].join('\n');
}
