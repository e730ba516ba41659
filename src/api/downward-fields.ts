import { ownValue } from '../base/lookup.ts';
import { KubeletError } from '../base/errors.ts';
import type { ObjectFieldSelector, ResourceFieldSelector } from './core/container.ts';
import type { Pod } from './core/pod.ts';
import type { ResourceList } from './core/resource-requirements.ts';
import { goQuote } from './go-quote.ts';
import { findContainer } from './pod.ts';
import type { AnyContainer } from './pod.ts';
import { parseQuantity } from './quantity.ts';
import { checkLabelKey } from './validation/names.ts';

/**
 * The downward API: fields of a pod in variables and files. All functions here throw `Invalid` with upstream's message.
 * (Upstream: kubelet_pods.go podFieldSelectorRuntimeValue, pkg/fieldpath, pkg/api/v1/resource.)
 */
export interface PodAddresses {
  /** The address of the primary family first; on the host's network, the host's addresses. */
  readonly podIps: readonly string[];
  readonly hostIps: readonly string[];
}

/** The value of a pod field for a variable. */
export function podFieldValue(
  { fieldPath }: Pick<ObjectFieldSelector, 'fieldPath'>,
  pod: Pod,
  { podIps, hostIps }: PodAddresses,
): string {
  switch (fieldPath) {
    case 'spec.nodeName':
    case 'spec.host':
      return pod.spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return pod.spec.serviceAccountName ?? '';
    case 'status.hostIP':
      return hostIps[0] ?? '';
    case 'status.hostIPs':
      return hostIps.join(',');
    case 'status.podIP':
      return podIps[0] ?? '';
    case 'status.podIPs':
      return podIps.join(',');
    default:
      return podMetadataValue(pod, fieldPath);
  }
}

/** The value of a metadata field. Files can only show these. */
export function podMetadataValue({ metadata }: Pod, fieldPath: string): string {
  const subscripted = /^(.+?)\['(.*)'\]$/s.exec(fieldPath);
  if (subscripted !== null) {
    const [, path = '', key = ''] = subscripted;
    if (path !== 'metadata.annotations' && path !== 'metadata.labels')
      throw invalid(`fieldPath ${goQuote(fieldPath)} does not support subscript`);
    const complaints = checkLabelKey(path === 'metadata.annotations' ? key.toLowerCase() : key);
    if (complaints.length > 0) throw invalid(`invalid key subscript in ${fieldPath}: ${complaints.join(';')}`);
    const map = (path === 'metadata.annotations' ? metadata.annotations : metadata.labels) ?? {};
    return Object.hasOwn(map, key) ? (map[key] ?? '') : '';
  }
  switch (fieldPath) {
    case 'metadata.name':
      return metadata.name;
    case 'metadata.namespace':
      return metadata.namespace;
    case 'metadata.uid':
      return metadata.uid;
    case 'metadata.labels':
      return formatMap(metadata.labels);
    case 'metadata.annotations':
      return formatMap(metadata.annotations);
    default:
      throw invalid(`unsupported fieldPath: ${fieldPath}`);
  }
}

/** One `key="value"` per line, sorted by key; values are quoted as in Go. */
function formatMap(map: Readonly<Record<string, string>> | undefined): string {
  return Object.entries(map ?? {})
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, value]) => `${key}=${goQuote(value)}`)
    .join('\n');
}

const limitable = new Set(['cpu', 'memory', 'ephemeral-storage']);

export interface ResourceFieldFacts {
  /** The container if the selector has no containerName. */
  readonly container?: AnyContainer;
  /** The value for a container without a limit. */
  readonly defaultLimits: ResourceList;
  /** Whether limits of an init container that the selector names get defaults: in files they do, in variables not. */
  readonly defaultsInit: boolean;
}

/** A request or limit in units of the divisor, rounded up. */
export function resourceFieldValue(selector: ResourceFieldSelector, pod: Pod, facts: ResourceFieldFacts): string {
  const { containerName = '', resource } = selector;
  const named = containerName === '' ? undefined : findContainer(pod, containerName);
  const subject = containerName === '' ? facts.container : named?.kind === 'ephemeral' ? undefined : named?.container;
  if (subject === undefined) throw invalid(`container ${containerName} not found`);
  const [, which, name = ''] = /^(limits|requests)\.(.+)$/s.exec(resource) ?? [];
  if ((which !== 'limits' && which !== 'requests') || !(limitable.has(name) || name.startsWith('hugepages-')))
    throw invalid(`unsupported container resource : ${resource}`);
  const isDefaulted = which === 'limits' && limitable.has(name) && (named?.kind !== 'init' || facts.defaultsInit);
  const amount =
    nonZero(ownValue(subject.resources?.[which], name)) ?? (isDefaulted ? facts.defaultLimits[name] : undefined) ?? '0';
  const divisor = parseQuantity(nonZero(selector.divisor) ?? '1').nanos;
  return String((parseQuantity(amount).nanos + divisor - 1n) / divisor);
}

/**
 * For variables: the node's allocatable resources, or the pod's limits if they are lower (upstream:
 * defaultPodLimitsForDownwardAPI).
 */
export function defaultLimitsOf(pod: Pod, allocatable: ResourceList): ResourceList {
  const limits = { ...allocatable };
  for (const name of ['cpu', 'memory']) {
    const own = nonZero(pod.spec.resources?.limits?.[name]);
    if (own !== undefined && limits[name] !== undefined) limits[name] = own;
  }
  return limits;
}

function nonZero(text: string | undefined): string | undefined {
  return text === undefined || parseQuantity(text).nanos === 0n ? undefined : text;
}

function invalid(message: string): KubeletError {
  return new KubeletError('Invalid', message);
}
