import type { ObjectReference } from '../../../api/core/meta.ts';
import type { Pod } from '../../../api/core/pod.ts';

/** Returns the reference to a pod or to one of its containers (upstream: container/ref.go GenerateContainerRef). */
export function podReference(pod: Pod, container: string | undefined): ObjectReference {
  const { namespace, name, uid, resourceVersion } = pod.metadata;
  const reference: ObjectReference = { kind: 'Pod', namespace, name, uid, apiVersion: 'v1' };
  if (resourceVersion !== undefined) reference.resourceVersion = resourceVersion;
  if (container !== undefined) reference.fieldPath = fieldPath(pod, container);
  return reference;
}

function fieldPath({ spec }: Pod, name: string): string {
  const has = (containers: readonly { name: string }[] | undefined): boolean =>
    containers?.some((each) => each.name === name) === true;
  if (has(spec.containers)) return `spec.containers{${name}}`;
  if (has(spec.initContainers)) return `spec.initContainers{${name}}`;
  if (has(spec.ephemeralContainers)) return `spec.ephemeralContainers{${name}}`;
  return `implicitly required container ${name}`;
}

/** Returns the reference to the node. As upstream, its name is also the UID. */
export function nodeReference(nodeName: string): ObjectReference {
  return { kind: 'Node', name: nodeName, uid: nodeName };
}
