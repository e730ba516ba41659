import type { Container } from '../../../api/core/container.ts';
import type { LimitRange } from '../../../api/core/limit-range.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';

const ANNOTATION = 'kubernetes.io/limit-ranger';

/**
 * Fills in missing requests and limits of containers from the LimitRange, with an annotation that lists them. Returns
 * the same pod if nothing is missing.
 */
export function withLimitDefaults(pod: Pod, { spec: { limits } }: LimitRange): Pod {
  const ofContainers = limits.filter(({ type }) => type === 'Container');
  const requests: ResourceList = Object.assign({}, ...ofContainers.map(({ defaultRequest }) => defaultRequest));
  const most: ResourceList = Object.assign({}, ...ofContainers.map((each) => each.default));
  const notes: string[] = [];
  const fill = (container: Container, what: string): Container => {
    const [asked, limited] = [container.resources?.requests ?? {}, container.resources?.limits ?? {}];
    const [addedRequests, addedLimits] = [namesBeyond(requests, asked), namesBeyond(most, limited)];
    if (addedRequests.length > 0) notes.push(`${addedRequests.join(', ')} request for ${what} ${container.name}`);
    if (addedLimits.length > 0) notes.push(`${addedLimits.join(', ')} limit for ${what} ${container.name}`);
    if (addedRequests.length + addedLimits.length === 0) return container;
    const filled = {
      ...(addedLimits.length + Object.keys(limited).length > 0 && { limits: { ...most, ...limited } }),
      ...(addedRequests.length + Object.keys(asked).length > 0 && { requests: { ...requests, ...asked } }),
    };
    return { ...container, resources: { ...container.resources, ...filled } };
  };
  const containers = pod.spec.containers.map((each) => fill(each, 'container'));
  const initContainers = pod.spec.initContainers?.map((each) => fill(each, 'init container'));
  if (notes.length === 0) return pod;
  const annotations = { ...pod.metadata.annotations, [ANNOTATION]: `LimitRanger plugin set: ${notes.join('; ')}` };
  return {
    ...pod,
    metadata: { ...pod.metadata, annotations },
    spec: { ...pod.spec, containers, ...(initContainers !== undefined && { initContainers }) },
  };
}

const namesBeyond = (defaults: ResourceList, given: ResourceList): readonly string[] =>
  Object.keys(defaults)
    .filter((name) => !Object.hasOwn(given, name))
    .sort();
