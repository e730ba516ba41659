/**
 * Reads the flags that set no configuration field, with their own rules (upstream: options.go ValidateKubeletFlags).
 */
import { parseDurationMs } from '../../../api/duration.ts';
import { parseIp } from '../../../base/ip-address.ts';
import { isLabelValue, isQualifiedName } from '../../model/config/validate-modes.ts';
import type { ConfigError } from '../config/config-error.ts';
import { readDockerFlags } from './docker-flags.ts';
import type { DockerFlags } from './docker-flags.ts';
import type { ParsedFlags } from './flags-parse.ts';

export interface AgentFlags {
  /** The configuration file. In this and the other texts, '' means that the flag is not set. */
  readonly configFile: string;
  readonly configDir: string;
  readonly rootDir: string;
  readonly kubeconfig: string;
  readonly bootstrapKubeconfig: string;
  readonly certDir: string;
  readonly hostnameOverride: string;
  /** The addresses: none, one, or one of each family. */
  readonly nodeIps: readonly string[];
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly cloudProvider: string;
  readonly runtimeCgroups: string;
  readonly imageCredentialProviderConfig: string;
  readonly imageCredentialProviderBinDir: string;
  readonly seccompDefault: boolean;
  readonly housekeepingPeriodMs: number;
  readonly maxHousekeepingPeriodMs: number;
  readonly lockFile: string;
  readonly exitOnLockContention: boolean;
  readonly cliSocket: string;
  /** `HOST:PORT` of the manifest server; empty turns it off. */
  readonly manifestServerAddress: string;
  readonly manifestServerTokenFile: string;
  /** The port of the node's page; 0 turns it off. */
  readonly cadvisorPort: number;
  readonly cadvisorTokenFile: string;
  /** The folder of admission hooks; empty for none. */
  readonly admissionHooksDir: string;
  readonly admissionHookTimeoutMs: number;
  readonly admissionHookFailurePolicy: 'hold' | 'ignore';
  readonly shutdownOnSigterm: boolean;
  /** Whether problems that the kernel logs become conditions and events of the node. */
  readonly nodeProblemConditions: boolean;
  /** Prefixes of image names. */
  readonly pinnedImages: readonly string[];
  readonly minimumContainerTtlMs: number;
  readonly maxDeadContainersPerContainer: number;
  /** The maximum number of dead containers; negative for no limit. */
  readonly maxDeadContainers: number;
  readonly allocatableIgnoresEviction: boolean;
  /** The Docker flags; undefined if the runtime is behind its CRI socket. */
  readonly docker: DockerFlags | undefined;
  /** The Kubernetes version to report. `--version=vX.Y.Z` changes it. */
  readonly reportedVersion: string;
}

const allowedLabelPrefixes = ['kubelet.kubernetes.io', 'node.kubernetes.io'];
const allowedLabels = [
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'beta.kubernetes.io/os',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'kubernetes.io/arch',
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'node.kubernetes.io/instance-type',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
];

const isKubernetesName = (key: string): boolean => /^([^/]+\.)?(kubernetes|k8s)\.io\//.test(key);

function mayBeSet(key: string): boolean {
  const prefix = key.split('/')[0] ?? '';
  return (
    allowedLabels.includes(key) ||
    allowedLabelPrefixes.some((allowed) => prefix === allowed || prefix.endsWith(`.${allowed}`))
  );
}

function labelErrors(labels: Readonly<Record<string, string>>): ConfigError[] {
  const keys = Object.keys(labels).sort();
  const unknown = keys.filter((key) => isKubernetesName(key) && !mayBeSet(key));
  const errors: ConfigError[] = [];
  if (unknown.length > 0) {
    const message = `unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [${unknown.join(' ')}]; --node-labels in the 'kubernetes.io' namespace must begin with an allowed prefix (${allowedLabelPrefixes.join(', ')}) or be in the specifically allowed set (${allowedLabels.join(', ')})`;
    errors.push({ flag: 'node-labels', message });
  }
  for (const key of keys) {
    const value = labels[key] ?? '';
    if (!isQualifiedName(key))
      errors.push({
        flag: 'node-labels',
        message: `invalid node labels (--node-labels): '${key}' - name must be at most 63 letters, digits, '-', '_' or '.', with an optional DNS prefix before a '/'`,
      });
    if (!isLabelValue(value))
      errors.push({
        flag: 'node-labels',
        message: `invalid node labels (--node-labels): '${value}' - a value must be at most 63 letters, digits, '-', '_' or '.'`,
      });
  }
  return errors;
}

function nodeIpErrors(nodeIps: readonly string[]): ConfigError[] {
  const families = new Set(nodeIps.map((ip) => ip.includes(':')));
  const wrong =
    nodeIps.some((ip) => parseIp(ip) === undefined) ||
    nodeIps.length > 2 ||
    (nodeIps.length === 2 && families.size === 1);
  return wrong
    ? [
        {
          flag: 'node-ip',
          message: `bad --node-ip "${nodeIps.join(',')}"; accepted are one address, or one IPv4 and one IPv6 address with a comma between them`,
        },
      ]
    : [];
}

function otherErrors(flags: AgentFlags): ConfigError[] {
  const errors: ConfigError[] = [];
  if (!['', 'external'].includes(flags.cloudProvider))
    errors.push({
      flag: 'cloud-provider',
      message: `unknown cloud provider "${flags.cloudProvider}" (--cloud-provider); accepted are "" and "external"`,
    });
  if (flags.exitOnLockContention && flags.lockFile === '')
    errors.push({
      flag: 'exit-on-lock-contention',
      message:
        'cannot exit on lock file contention: no lock file specified; --exit-on-lock-contention needs --lock-file',
    });
  if (flags.cadvisorPort < 0 || flags.cadvisorPort > 65_535)
    errors.push({
      flag: 'cadvisor-port',
      message: `--cadvisor-port ${flags.cadvisorPort} must be a port up to 65535, or 0 for none`,
    });
  if (flags.admissionHooksDir !== '' && !flags.admissionHooksDir.startsWith('/'))
    errors.push({
      flag: 'admission-hooks-dir',
      message: `--admission-hooks-dir "${flags.admissionHooksDir}" must be an absolute path`,
    });
  if (flags.admissionHookTimeoutMs <= 0)
    errors.push({ flag: 'admission-hook-timeout', message: '--admission-hook-timeout must be more than 0s' });
  if (flags.rootDir === '')
    errors.push({ flag: 'root-dir', message: 'invalid root directory ""; --root-dir needs a folder' });
  if (
    flags.manifestServerAddress !== '' &&
    !/^(\[[0-9a-fA-F:.]+\]|[^:\s]*):\d{1,5}$/.test(flags.manifestServerAddress)
  ) {
    errors.push({
      flag: 'manifest-server-address',
      message: `--manifest-server-address "${flags.manifestServerAddress}" must be HOST:PORT`,
    });
  }
  if (flags.manifestServerAddress !== '' && flags.manifestServerTokenFile === '') {
    errors.push({
      flag: 'manifest-server-token-file',
      message:
        '--manifest-server-address needs --manifest-server-token-file: the manifest server accepts no request without a token',
    });
  }
  if ((flags.imageCredentialProviderConfig === '') !== (flags.imageCredentialProviderBinDir === '')) {
    errors.push({
      flag: 'image-credential-provider-config',
      message: '--image-credential-provider-config and --image-credential-provider-bin-dir must be set together',
    });
  }
  return errors;
}

export function readAgentFlags(
  { values }: ParsedFlags,
  version: string,
): { readonly flags: AgentFlags; readonly errors: readonly ConfigError[] } {
  const text = (name: string, otherwise = ''): string => {
    const value = values.get(name);
    return typeof value === 'string' ? value : otherwise;
  };
  const isOn = (name: string): boolean => values.get(name) === true;
  const number = (name: string, otherwise: number): number => {
    const value = values.get(name);
    return typeof value === 'number' ? value : otherwise;
  };
  const ms = (name: string, otherwise: string): number => parseDurationMs(text(name, otherwise)) ?? 0;
  const reported = text('version');
  const docker = readDockerFlags({ values });
  const flags: AgentFlags = {
    configFile: text('config'),
    configDir: text('config-dir'),
    rootDir: text('root-dir', '/var/lib/kubelet'),
    kubeconfig: text('kubeconfig'),
    bootstrapKubeconfig: text('bootstrap-kubeconfig'),
    certDir: text('cert-dir', '/var/lib/kubelet/pki'),
    hostnameOverride: text('hostname-override').trim().toLowerCase(),
    nodeIps: text('node-ip')
      .split(',')
      .map((ip) => ip.trim())
      .filter((ip) => ip !== ''),
    nodeLabels: (values.get('node-labels') ?? {}) as Record<string, string>,
    cloudProvider: text('cloud-provider'),
    runtimeCgroups: text('runtime-cgroups'),
    imageCredentialProviderConfig: text('image-credential-provider-config'),
    imageCredentialProviderBinDir: text('image-credential-provider-bin-dir'),
    seccompDefault: isOn('seccomp-default'),
    housekeepingPeriodMs: ms('housekeeping-interval', '10s'),
    maxHousekeepingPeriodMs: ms('max-housekeeping-interval', '15s'),
    lockFile: text('lock-file'),
    exitOnLockContention: isOn('exit-on-lock-contention'),
    cliSocket: text('cli-socket', `${text('root-dir', '/var/lib/kubelet')}/kubelet.sock`),
    manifestServerAddress: text('manifest-server-address'),
    manifestServerTokenFile: text('manifest-server-token-file'),
    cadvisorPort: number('cadvisor-port', 0),
    cadvisorTokenFile: text('cadvisor-token-file'),
    admissionHooksDir: text('admission-hooks-dir'),
    admissionHookTimeoutMs: ms('admission-hook-timeout', '10s'),
    admissionHookFailurePolicy: text('admission-hook-failure-policy', 'hold') === 'ignore' ? 'ignore' : 'hold',
    shutdownOnSigterm: isOn('shutdown-on-sigterm'),
    nodeProblemConditions: isOn('node-problem-conditions'),
    pinnedImages: text('pinned-images')
      .split(',')
      .map((prefix) => prefix.trim())
      .filter((prefix) => prefix !== ''),
    minimumContainerTtlMs: ms('minimum-container-ttl-duration', '0s'),
    maxDeadContainersPerContainer: number('maximum-dead-containers-per-container', 1),
    maxDeadContainers: number('maximum-dead-containers', -1),
    allocatableIgnoresEviction: isOn('experimental-allocatable-ignore-eviction'),
    docker: docker.docker,
    reportedVersion: reported.startsWith('v') ? reported : version,
  };
  return {
    flags,
    errors: [...labelErrors(flags.nodeLabels), ...nodeIpErrors(flags.nodeIps), ...docker.errors, ...otherErrors(flags)],
  };
}
