import type { HorizontalPodAutoscaler } from '../../../api/autoscaling/horizontal-pod-autoscaler-v1.ts';
import { HorizontalPodAutoscalerSchema } from '../../../api/autoscaling/horizontal-pod-autoscaler-v1.ts';
import type { HorizontalPodAutoscaler as StoredAutoscaler } from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import { horizontalPodAutoscalers, v1HorizontalPodAutoscalers } from '../../../api/client/resource-types.ts';
import { defaultV1Autoscaler } from '../../../api/defaults/default-autoscaling.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import {
  validateHorizontalPodAutoscaler,
  validateHorizontalPodAutoscalerStatus,
  validateHorizontalPodAutoscalerUpdate,
} from '../../../api/validation/workloads/validate-horizontal-pod-autoscaler.ts';
import type { TableColumn } from '../../model/resource-definition.ts';
import { defineResource } from '../define-resource.ts';
import { autoscalerColumns } from './autoscaler-columns.ts';
import { annotations, fromV1Autoscaler, toV1Autoscaler } from './autoscaler-forms.ts';
import { autoscalerNames } from './horizontal-pod-autoscaler.ts';

/** All rules are those of version 2, in which the objects are stored. */
export const v1HorizontalPodAutoscalerResource = defineResource<HorizontalPodAutoscaler>({
  ...autoscalerNames,
  type: v1HorizontalPodAutoscalers,
  schema: HorizontalPodAutoscalerSchema,
  storedAs: {
    stored: horizontalPodAutoscalers,
    toStored: fromV1Autoscaler,
    fromStored: (stored) => toV1Autoscaler(stored as StoredAutoscaler),
  },
  rules: {
    applyDefaults: (autoscaler) => defaultV1Autoscaler(autoscaler, annotations.metrics),
    prepareForCreate: (autoscaler) => ({ ...autoscaler, status: { currentReplicas: 0, desiredReplicas: 0 } }),
    validate: (autoscaler) => validateHorizontalPodAutoscaler(fromV1Autoscaler(autoscaler)),
    validateName: checkDnsSubdomain,
    validateUpdate: (autoscaler, old) =>
      validateHorizontalPodAutoscalerUpdate(fromV1Autoscaler(autoscaler), fromV1Autoscaler(old)),
    validateStatusUpdate: (autoscaler) => validateHorizontalPodAutoscalerStatus(fromV1Autoscaler(autoscaler)),
  },
  hasStatus: true,
  columns: autoscalerColumns.map(
    (column): TableColumn<HorizontalPodAutoscaler> => ({
      ...column,
      cell: (autoscaler, nowMs) => column.cell(fromV1Autoscaler(autoscaler), nowMs),
    }),
  ),
});
