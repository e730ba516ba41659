import type { ContainerPort } from '../../core/container.ts';
import type { Pod } from '../../core/pod.ts';
import type { PodSpec } from '../../core/pod-spec.ts';
import type { ResourceList } from '../../core/resource-requirements.ts';
import type { NodeSelectorTerm, PodAffinityTerm } from '../../core/scheduling.ts';
import { goQuote } from '../../go-quote.ts';
import { allContainers } from '../../pod.ts';
import type { AnyContainer } from '../../pod.ts';
import { canonicalQuantity, parseQuantity } from '../../quantity.ts';
import { checkLabelValue } from '../names.ts';
import { overlappingPaths } from './overlapping-paths.ts';

/**
 * Something that is accepted but probably a mistake. `field` has upstream's notation; the message is the API server's.
 */
export interface ManifestWarning {
  readonly field: string;
  readonly message: string;
  /** The message already contains its subject: the API server prints it without the field. */
  readonly alone?: true;
}
export type Warn = (field: string, message: string, form?: 'alone') => void;

export const collectWarnings =
  (warnings: ManifestWarning[]): Warn =>
  (field, message, form) =>
    void warnings.push({ field, message, ...(form === 'alone' && { alone: true }) });

/** Formats a warning as the API server does. */
export const warningText = ({ field, message, alone }: ManifestWarning): string =>
  alone === true ? message : `${field}: ${message}`;

export const deprecatedNodeLabels: ReadonlyMap<string, string> = new Map([
  ['beta.kubernetes.io/arch', 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ['beta.kubernetes.io/os', 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  ['failure-domain.beta.kubernetes.io/region', 'deprecated since v1.17; use "topology.kubernetes.io/region" instead'],
  ['failure-domain.beta.kubernetes.io/zone', 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'],
  ['beta.kubernetes.io/instance-type', 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'],
  ['app.kubernetes.io/created-by', 'deprecated since v1.9'],
  ['scheduler.alpha.kubernetes.io/preferAvoidPods', 'deprecated since v1.22; use Taints and Tolerations instead'],
  ['node-role.kubernetes.io/master', 'use "node-role.kubernetes.io/control-plane" instead'],
]);

const deadAnnotations: readonly (readonly [key: string, message: string])[] = [
  ['scheduler.alpha.kubernetes.io/critical-pod', 'non-functional in v1.16+; use the "priorityClassName" field instead'],
  ['security.alpha.kubernetes.io/sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
  ['security.alpha.kubernetes.io/unsafe-sysctls', 'non-functional in v1.11+; use the "sysctls" field instead'],
];

const deadVolumeKinds: readonly (readonly [
  kind:
    | 'photonPersistentDisk'
    | 'gitRepo'
    | 'scaleIO'
    | 'flocker'
    | 'storageos'
    | 'quobyte'
    | 'glusterfs'
    | 'cephfs'
    | 'rbd',
  message: string,
])[] = [
  ['photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['gitRepo', 'deprecated in v1.11, and disabled by default in v1.33+'],
  ['scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'deprecated in v1.22, non-functional in v1.25+'],
  ['storageos', 'deprecated in v1.22, non-functional in v1.25+'],
  ['quobyte', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['rbd', 'deprecated in v1.28, non-functional in v1.31+'],
];

/** The warnings that `kubectl apply` would print for a valid, defaulted pod (upstream: api/pod warnings.go). */
export function podWarnings(pod: Pod): ManifestWarning[] {
  const warnings: ManifestWarning[] = [];
  const warn = collectWarnings(warnings);
  const { spec } = pod;
  warnOfScheduling(warn, spec);
  warnOfAnnotations(warn, pod);
  warnOfVolumes(warn, spec);
  warnOfRepeated(warn, 'spec.hostAliases', { key: 'ip', values: (spec.hostAliases ?? []).map(({ ip }) => ip ?? '') });
  warnOfRepeated(warn, 'spec.imagePullSecrets', {
    key: 'name',
    values: (spec.imagePullSecrets ?? []).map(({ name }) => name ?? ''),
  });
  for (const [index, { name }] of (spec.imagePullSecrets ?? []).entries())
    if (!name) warn(`spec.imagePullSecrets[${index}].name`, 'invalid empty name ""');
  warnOfFractions(warn, 'spec.overhead', spec.overhead);
  for (const { container, path } of allContainers(pod)) {
    warnOfFractions(warn, `${path}.resources.limits`, container.resources?.limits);
    warnOfFractions(warn, `${path}.resources.requests`, container.resources?.requests);
    warnOfHiddenVariables(warn, path, container);
  }
  warnOfPorts(warn, pod);
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0)
    warn('spec.terminationGracePeriodSeconds', 'must be >= 0; negative values are invalid and will be treated as 1');
  for (const [index, address] of (spec.dnsConfig?.nameservers ?? []).entries())
    warnOfAddress(warn, `spec.dnsConfig.nameservers[${index}]`, address);
  for (const [index, { ip = '' }] of (spec.hostAliases ?? []).entries())
    warnOfAddress(warn, `spec.hostAliases[${index}].ip`, ip);
  return warnings;
}

function warnOfScheduling(warn: Warn, { nodeSelector, affinity, topologySpreadConstraints }: PodSpec): void {
  for (const label of Object.keys(nodeSelector ?? {})) {
    const message = deprecatedNodeLabels.get(label);
    if (message !== undefined) warn(`spec.nodeSelector[${label}]`, message);
  }
  const {
    requiredDuringSchedulingIgnoredDuringExecution: required,
    preferredDuringSchedulingIgnoredDuringExecution: preferred = [],
  } = affinity?.nodeAffinity ?? {};
  const at = 'spec.affinity.nodeAffinity';
  for (const [index, term] of (required?.nodeSelectorTerms ?? []).entries())
    warnOfTerm(warn, `${at}.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[${index}]`, {
      term,
      checkValues: false,
    });
  for (const [index, { preference }] of preferred.entries())
    warnOfTerm(warn, `${at}.preferredDuringSchedulingIgnoredDuringExecution[${index}].preference`, {
      term: preference,
      checkValues: true,
    });
  for (const [index, { topologyKey, labelSelector }] of (topologySpreadConstraints ?? []).entries()) {
    const path = `spec.topologySpreadConstraints[${index}]`;
    const message = deprecatedNodeLabels.get(topologyKey);
    if (message !== undefined) warn(`${path}.topologyKey`, `${topologyKey} is ${message}`);
    warnOfNoSelector(warn, path, { labelSelector });
  }
  for (const kind of ['podAffinity', 'podAntiAffinity'] as const) {
    const {
      requiredDuringSchedulingIgnoredDuringExecution: musts = [],
      preferredDuringSchedulingIgnoredDuringExecution: preferred = [],
    } = affinity?.[kind] ?? {};
    for (const [index, term] of musts.entries())
      warnOfNoSelector(warn, `spec.affinity.${kind}.requiredDuringSchedulingIgnoredDuringExecution[${index}]`, term);
    for (const [index, { podAffinityTerm }] of preferred.entries())
      warnOfNoSelector(
        warn,
        `spec.affinity.${kind}.preferredDuringSchedulingIgnoredDuringExecution[${index}].podAffinityTerm`,
        podAffinityTerm,
      );
  }
}

export function warnOfTerm(
  warn: Warn,
  path: string,
  { term, checkValues }: { term: NodeSelectorTerm; checkValues: boolean },
): void {
  for (const [index, { key, values }] of (term.matchExpressions ?? []).entries()) {
    const message = deprecatedNodeLabels.get(key);
    if (message !== undefined) warn(`${path}.matchExpressions[${index}].key`, `${key} is ${message}`);
    if (!checkValues) continue;
    for (const [position, value] of (values ?? []).entries())
      for (const complaint of checkLabelValue(value))
        warn(`${path}.matchExpressions[${index}].values[${position}]`, `${value} is invalid, ${complaint}`);
  }
}

function warnOfNoSelector(warn: Warn, path: string, { labelSelector }: Pick<PodAffinityTerm, 'labelSelector'>): void {
  if (labelSelector === undefined) warn(`${path}.labelSelector`, 'a null labelSelector results in matching no pod');
}

function warnOfAnnotations(warn: Warn, pod: Pod): void {
  const { annotations = {} } = pod.metadata;
  for (const [key, message] of deadAnnotations)
    if (Object.hasOwn(annotations, key)) warn(`metadata.annotations[${key}]`, message);
  const warnOfSeccomp = (key: string): void => {
    if (Object.hasOwn(annotations, key))
      warn(`metadata.annotations[${key}]`, 'non-functional in v1.27+; use the "seccompProfile" field instead');
  };
  if (pod.spec.securityContext?.seccompProfile === undefined) warnOfSeccomp('seccomp.security.alpha.kubernetes.io/pod');
  for (const { container } of allContainers(pod))
    if (container.securityContext?.seccompProfile === undefined)
      warnOfSeccomp(`container.seccomp.security.alpha.kubernetes.io/${container.name}`);
}

function warnOfVolumes(warn: Warn, { volumes = [] }: PodSpec): void {
  for (const [index, volume] of volumes.entries()) {
    const path = `spec.volumes[${index}]`;
    for (const [kind, message] of deadVolumeKinds)
      if (volume[kind] !== undefined) warn(`${path}.${kind === 'storageos' ? 'storageOS' : kind}`, message);
    warnOfFractions(
      warn,
      `${path}.ephemeral.volumeClaimTemplate.spec.resources.requests`,
      volume.ephemeral?.volumeClaimTemplate?.spec.resources?.requests,
    );
    for (const message of overlappingPaths(volume)) warn(path, message, 'alone');
  }
}

function warnOfRepeated(warn: Warn, path: string, { key, values }: { key: string; values: readonly string[] }): void {
  const seen = new Set<string>();
  for (const [index, value] of values.entries()) {
    if (seen.has(value)) warn(`${path}[${index}].${key}`, `duplicate ${key} ${goQuote(value)}`);
    seen.add(value);
  }
}

/** Warns of an IPv6 address that is not in the recommended form. */
function warnOfAddress(warn: Warn, path: string, address: string): void {
  if (!address.includes(':') || !URL.canParse(`http://[${address}]`)) return;
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  if (canonical !== address)
    warn(path, `IPv6 address ${goQuote(address)} should be in RFC 5952 canonical format (${goQuote(canonical)})`);
}

/** Warns of fractions of bytes: `100m` of memory is a tenth of a byte. */
export function warnOfFractions(warn: Warn, path: string, resources: ResourceList | undefined): void {
  for (const name of ['memory', 'ephemeral-storage', 'storage']) {
    const amount = resources?.[name];
    if (amount !== undefined && parseQuantity(amount).nanos % 1_000_000_000n !== 0n)
      warn(
        `${path}[${name}]`,
        `fractional byte value ${goQuote(canonicalQuantity(amount))} is invalid, must be an integer`,
      );
  }
}

/**
 * Warns of a variable that is defined twice. The last definition counts, so this only makes sense if it uses the
 * earlier one.
 */
function warnOfHiddenVariables(warn: Warn, path: string, { env = [] }: AnyContainer): void {
  const seen = new Set<string>();
  for (const [index, { name, value = '', valueFrom }] of env.entries()) {
    const reference = `$(${name})`;
    const builds = valueFrom === undefined && value !== reference && value.includes(reference);
    if (seen.has(name) && !builds)
      warn(
        `${path}.env[${index}]`,
        `hides previous definition of ${goQuote(name)}, which may be dropped when using apply`,
      );
    seen.add(name);
  }
}

/** Limits the warnings, because every pair of ports may cause one. */
const MAX_PAIR_WARNINGS = 100;
const MAX_COMPARED = 1000;

function warnOfPorts(warn: Warn, pod: Pod): void {
  const seen = new Map<string, { readonly field: string; readonly port: ContainerPort }[]>();
  let pairs = 0;
  const names = new Map<string, string>();
  for (const { container, path } of allContainers(pod)) {
    for (const [index, port] of (container.ports ?? []).entries()) {
      const field = `${path}.ports[${index}]`;
      if (port.hostIP && !port.hostPort)
        warn(
          field,
          `hostIP set without hostPort: {Name:${port.name ?? ''} HostPort:0 ContainerPort:${port.containerPort} Protocol:${port.protocol ?? ''} HostIP:${port.hostIP}}`,
        );
      const key = `${port.containerPort}/${port.protocol ?? ''}`;
      const others = seen.get(key) ?? [];
      for (const other of pairs < MAX_PAIR_WARNINGS ? others : []) {
        const relation = portRelation(port, other.port);
        if (relation !== undefined && pairs++ < MAX_PAIR_WARNINGS)
          warn(field, `${relation} port definition with ${other.field}`);
      }
      if (others.length === 0) seen.set(key, others);
      if (others.length < MAX_COMPARED) others.push({ field, port });
      const namesake = port.name ? names.get(port.name) : undefined;
      if (namesake !== undefined)
        warn(
          field,
          `duplicate port name ${goQuote(port.name ?? '')} with ${namesake}, services and probes that select ports by name will use ${namesake}`,
        );
      else if (port.name) names.set(port.name, field);
    }
  }
}

/** How two ports with the same number and protocol are related. */
function portRelation(port: ContainerPort, other: ContainerPort): string | undefined {
  const { hostIP = '', hostPort = 0 } = port;
  const { hostIP: otherIp = '', hostPort: otherPort = 0 } = other;
  if (hostIP === otherIp && hostPort === otherPort) return 'duplicate';
  if (hostPort === 0 || otherPort === 0) return 'overlapping';
  return hostPort === otherPort && (hostIP === '') !== (otherIp === '') ? 'dangerously ambiguous' : undefined;
}
