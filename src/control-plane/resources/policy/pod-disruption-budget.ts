import { podDisruptionBudgets } from '../../../api/client/resource-types.ts';
import type { PodDisruptionBudget } from '../../../api/policy/pod-disruption-budget.ts';
import { PodDisruptionBudgetSchema } from '../../../api/policy/pod-disruption-budget.ts';
import { checkPathSegment } from '../../../api/validation/names.ts';
import {
  validatePodDisruptionBudget,
  validatePodDisruptionBudgetStatus,
  validatePodDisruptionBudgetUpdate,
} from '../../../api/validation/workloads/validate-pod-disruption-budget.ts';
import { defineResource } from '../define-resource.ts';

export const podDisruptionBudgetResource = defineResource<PodDisruptionBudget>({
  type: podDisruptionBudgets,
  singular: 'poddisruptionbudget',
  shortNames: ['pdb'],
  schema: PodDisruptionBudgetSchema,
  storagePath: 'poddisruptionbudgets',
  rules: {
    applyDefaults: (budget) => budget,
    prepareForCreate: (budget) => ({
      ...budget,
      status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
    }),
    validate: validatePodDisruptionBudget,
    validateName: checkPathSegment,
    anyFinalizer: true,
    validateUpdate: validatePodDisruptionBudgetUpdate,
    validateStatusUpdate: validatePodDisruptionBudgetStatus,
    requiresResourceVersion: true,
  },
  hasStatus: true,
  countsGeneration: true,
  columns: [
    {
      name: 'Min Available',
      type: 'string',
      description: 'Pods that must stay.',
      cell: ({ spec }) => String(spec.minAvailable ?? 'N/A'),
    },
    {
      name: 'Max Unavailable',
      type: 'string',
      description: 'Pods that may be missing.',
      cell: ({ spec }) => String(spec.maxUnavailable ?? 'N/A'),
    },
    {
      name: 'Allowed Disruptions',
      type: 'integer',
      description: 'Pods that may be evicted now.',
      cell: ({ status }) => status?.disruptionsAllowed ?? 0,
    },
  ],
});
