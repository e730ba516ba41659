import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceFieldSelector } from '../../../api/core/container.ts';
import { podMetadataText } from '../../../api/metadata-field.ts';
import { findContainer } from '../../../api/pod.ts';
import { parseQuantity } from '../../../api/quantity.ts';
import { KubeletError } from '../../../base/errors.ts';

/** Text of a metadata field for a downwardAPI file (upstream: pkg/fieldpath). Throws Invalid for a field that files cannot show. */
export function podFieldText(pod: Pod, fieldPath: string): string {
  const { metadata } = pod;
  const subscript = /^metadata\.(labels|annotations)\['([^']+)'\]$/.exec(fieldPath);
  if (subscript !== null) return (subscript[1] === 'labels' ? metadata.labels : metadata.annotations)?.[subscript[2] ?? ''] ?? '';
  const text = podMetadataText(pod, fieldPath);
  if (text === undefined) throw new KubeletError('Invalid', `unsupported fieldPath: ${fieldPath}`);
  return text;
}

/** Requests and limits of one container in units of the divisor, rounded up (upstream: api/v1/resource ExtractContainerResourceValue). */
export function resourceFieldText(pod: Pod, selector: ResourceFieldSelector, nodeAllocatable: Readonly<Record<string, string>>): string {
  const name = selector.containerName ?? '';
  const found = findContainer(pod, name);
  if (found === undefined) throw new KubeletError('Invalid', `container ${name} not found`);
  const match = /^(limits|requests)\.(.+)$/.exec(selector.resource);
  if (match === null) throw new KubeletError('Invalid', `unsupported container resource : ${selector.resource}`);
  const [, which, resource = ''] = match;
  const own = found.container.resources?.[which as 'limits' | 'requests']?.[resource];
  // A limit that is not set means: as much as the node has.
  const text = own ?? (which === 'limits' ? nodeAllocatable[resource] : undefined) ?? '0';
  const divisor = parseQuantity(selector.divisor === undefined || selector.divisor === '0' ? '1' : selector.divisor).nanos;
  const { nanos } = parseQuantity(text);
  return String((nanos + divisor - 1n) / divisor);
}
