import { fnv32a } from '../../../../base/fnv32a.ts';
import type { AnyContainer } from '../../../../api/pod.ts';
import { goJson } from '../../../../api/go-json.ts';
import { runtimeAnnotations } from '../../../../api/annotations.ts';
import type { ContainerRuntimeStatus } from '../../../model/runtime-status.ts';

/**
 * Computes the hash in `io.kubernetes.container.hash`: lower-case hex, FNV-32a over the JSON of name and image in the
 * form in which Go's object dumper prints a byte slice. So this agent adopts containers of upstream's kubelet
 * unchanged, and vice versa (upstream: pkg/kubelet/container/helpers.go HashContainer). Other fields do not matter,
 * because they cannot change in a running pod.
 */
export function containerHash(container: Pick<AnyContainer, 'name' | 'image'>): string {
  const json = goJson({ image: container.image ?? '', name: container.name });
  return fnv32a(`([]uint8)[${Buffer.from(json).join(' ')}]`).toString(16);
}

/**
 * Whether the running container was created from another definition. A container without a hash counts as changed,
 * because upstream reads its hash as 0.
 */
export function isDefinitionChanged(
  container: Pick<AnyContainer, 'name' | 'image'>,
  actual: Pick<ContainerRuntimeStatus, 'annotations'>,
): boolean {
  return normalise(actual.annotations[runtimeAnnotations.containerHash]) !== containerHash(container);
}

function normalise(hash: string | undefined): string {
  return (hash ?? '').toLowerCase().replace(/^0+(?=.)/, '');
}
