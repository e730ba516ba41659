import type { Container } from '../../api/core/container.ts';
import { quantityMilliValue } from '../../api/quantity.ts';

/**
 * Whether the container requests CPU and memory, and its limits are equal to the requests. In a pod with pod-level
 * resources, only such containers get exclusive resources (upstream: cm/qos IsContainerEquivalentQOSGuaranteed).
 */
export function isGuaranteedAlone({ resources }: Pick<Container, 'resources'>): boolean {
  return ['cpu', 'memory'].every((name) => {
    const [request, limit] = [resources?.requests?.[name], resources?.limits?.[name]];
    if (request === undefined || limit === undefined) return false;
    const amount = quantityMilliValue(request);
    return amount > 0 && amount === quantityMilliValue(limit);
  });
}
