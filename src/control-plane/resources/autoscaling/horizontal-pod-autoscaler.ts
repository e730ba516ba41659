import type { HorizontalPodAutoscaler } from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import { HorizontalPodAutoscalerSchema } from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import { horizontalPodAutoscalers } from '../../../api/client/resource-types.ts';
import { defaultHorizontalPodAutoscaler } from '../../../api/defaults/default-autoscaling.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import {
  validateHorizontalPodAutoscaler,
  validateHorizontalPodAutoscalerStatus,
  validateHorizontalPodAutoscalerUpdate,
} from '../../../api/validation/workloads/validate-horizontal-pod-autoscaler.ts';
import { defineResource } from '../define-resource.ts';
import { autoscalerColumns } from './autoscaler-columns.ts';

/** The names of both versions for `kubectl` and discovery. */
export const autoscalerNames = {
  singular: 'horizontalpodautoscaler',
  shortNames: ['hpa'],
  categories: ['all'],
  storagePath: 'horizontalpodautoscalers',
} as const;

export const horizontalPodAutoscalerResource = defineResource<HorizontalPodAutoscaler>({
  ...autoscalerNames,
  type: horizontalPodAutoscalers,
  schema: HorizontalPodAutoscalerSchema,
  rules: {
    applyDefaults: defaultHorizontalPodAutoscaler,
    prepareForCreate: (autoscaler) => ({ ...autoscaler, status: { desiredReplicas: 0 } }),
    validate: validateHorizontalPodAutoscaler,
    validateName: checkDnsSubdomain,
    validateUpdate: validateHorizontalPodAutoscalerUpdate,
    validateStatusUpdate: validateHorizontalPodAutoscalerStatus,
  },
  hasStatus: true,
  columns: autoscalerColumns,
});
