import type { CrossVersionObjectReference } from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import type { Scale } from '../../../api/autoscaling/scale.ts';
import type { ResourceType } from '../../../api/client/resource-type.ts';

/** Finds the kinds that match a reference, independent of its version. A string is the error. */
export function findScaleTypes(
  { apiVersion = '', kind }: CrossVersionObjectReference,
  types: readonly ResourceType[],
): readonly ResourceType<Scale>[] | string {
  const parts = apiVersion.split('/');
  if (apiVersion !== '/' && parts.length > 2) return `unexpected GroupVersion string: ${apiVersion}`;
  const group = parts.length === 2 ? (parts[0] ?? '') : '';
  const found = types.filter((type) => type.group === group && type.kind === kind);
  if (found.length === 0) return `no matches for kind ${JSON.stringify(kind)} in group ${JSON.stringify(group)}`;
  // Only the scale of these kinds is read and written.
  return found as readonly ResourceType[] as readonly ResourceType<Scale>[];
}
