import type { ObjectFieldSelector, ResourceFieldSelector } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import { podMetadataText } from '../../../api/metadata-field.ts';
import { findContainer } from '../../../api/pod.ts';
import type { AnyContainer } from '../../../api/pod.ts';
import { parseQuantity } from '../../../api/quantity.ts';
import { KubeletError } from '../../../base/errors.ts';

/** The value of a downward-API field of a pod (upstream: kubelet_pods.go podFieldSelectorRuntimeValue, pkg/fieldpath). Throws `Invalid`. */
export function podFieldValue(selector: ObjectFieldSelector, pod: Pod, ips: { podIps: readonly string[]; hostIps: readonly string[] }): string {
  const path = selector.fieldPath;
  const subscript = /^(.+?)\['(.*)'\]$/s.exec(path);
  if (subscript !== null) {
    if (subscript[1] === 'metadata.annotations') return pod.metadata.annotations?.[subscript[2] ?? ''] ?? '';
    if (subscript[1] === 'metadata.labels') return pod.metadata.labels?.[subscript[2] ?? ''] ?? '';
    throw new KubeletError('Invalid', `fieldPath "${path}" does not support subscript`);
  }
  const metadata = podMetadataText(pod, path);
  if (metadata !== undefined) return metadata;
  const { spec } = pod;
  switch (path) {
    case 'spec.nodeName':
      return spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return spec.serviceAccountName ?? '';
    case 'status.hostIP':
      return ips.hostIps[0] ?? '';
    case 'status.hostIPs':
      return ips.hostIps.join(',');
    case 'status.podIP':
      return ips.podIps[0] ?? '';
    case 'status.podIPs':
      return ips.podIps.join(',');
    default:
      throw new KubeletError('Invalid', `unsupported fieldPath: ${path}`);
  }
}

const sizes = new Set(['cpu', 'memory', 'ephemeral-storage']);

/**
 * The value of a resource field, divided and rounded up (upstream: pkg/api/v1/resource ExtractContainerResourceValue). A limit that is not
 * set is the pod's, else what the node can give. Throws `Invalid`.
 */
export function resourceFieldValue(selector: ResourceFieldSelector, pod: Pod, container: AnyContainer, allocatable: ResourceList): string {
  const named = selector.containerName ?? '';
  const subject = named === '' ? container : findContainer(pod, named)?.container;
  if (subject === undefined) throw new KubeletError('Invalid', `container ${named} not found`);
  const dot = selector.resource.indexOf('.');
  const [which, name] = [selector.resource.slice(0, dot), selector.resource.slice(dot + 1)];
  if ((which !== 'limits' && which !== 'requests') || !(sizes.has(name) || name.startsWith('hugepages-'))) {
    throw new KubeletError('Invalid', `unsupported container resource : ${selector.resource}`);
  }
  const own = subject.resources?.[which]?.[name];
  const fallback = which === 'limits' && sizes.has(name) ? (nonZero(pod.spec.resources?.limits?.[name]) ?? allocatable[name]) : undefined;
  const amount = parseQuantity(nonZero(own) ?? fallback ?? '0').nanos;
  const divisor = parseQuantity(nonZero(selector.divisor) ?? '1').nanos;
  return String((amount + divisor - 1n) / divisor);
}

function nonZero(text: string | undefined): string | undefined {
  return text === undefined || parseQuantity(text).nanos === 0n ? undefined : text;
}
