import { clusterDescriptions } from './cluster-descriptions.ts';
import { conditionDescriptions, detailDescriptions } from './detail-descriptions.ts';
import { commonDescriptions, metaDescriptions } from './meta-descriptions.ts';
import { podDescriptions } from './pod-descriptions.ts';
import type { Descriptions } from './types.ts';
import { workloadDescriptions } from './workload-descriptions.ts';

export const descriptions: Descriptions = {
  ...metaDescriptions,
  ...podDescriptions,
  ...workloadDescriptions,
  ...clusterDescriptions,
  ...detailDescriptions,
};

/** What `kubectl explain` says of a field, or with '' of a type. */
export function descriptionOf(type: string, field: string): string | undefined {
  const own = descriptions[type]?.[field];
  if (own !== undefined) return own;
  if (type.endsWith('Condition') && conditionDescriptions[field] !== undefined) return conditionDescriptions[field];
  if (field !== '') return commonDescriptions[field];
  return type.endsWith('List') ? `A list of objects of the kind ${type.slice(0, -4)}.` : undefined;
}
