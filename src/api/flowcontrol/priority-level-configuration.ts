/** PriorityLevelConfiguration of flowcontrol.apiserver.k8s.io/v1. The fields follow k8s.io/api/flowcontrol/v1. */
import { array, field, filled, int32, object, pointer, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

export const QueuingConfigurationSchema = object('QueuingConfiguration', {
  queues: filled(1, int32),
  handSize: filled(2, int32),
  queueLengthLimit: filled(3, int32),
});
export type QueuingConfiguration = Infer<typeof QueuingConfigurationSchema>;

export const LimitResponseSchema = object('LimitResponse', {
  type: required(1, string),
  queuing: field(2, QueuingConfigurationSchema),
});
export type LimitResponse = Infer<typeof LimitResponseSchema>;

export const LimitedPriorityLevelConfigurationSchema = object('LimitedPriorityLevelConfiguration', {
  nominalConcurrencyShares: pointer(1, int32),
  limitResponse: filled(2, LimitResponseSchema),
  lendablePercent: pointer(3, int32),
  borrowingLimitPercent: pointer(4, int32),
});
export type LimitedPriorityLevelConfiguration = Infer<typeof LimitedPriorityLevelConfigurationSchema>;

export const ExemptPriorityLevelConfigurationSchema = object('ExemptPriorityLevelConfiguration', {
  nominalConcurrencyShares: pointer(1, int32),
  lendablePercent: pointer(2, int32),
});
export type ExemptPriorityLevelConfiguration = Infer<typeof ExemptPriorityLevelConfigurationSchema>;

export const PriorityLevelConfigurationSpecSchema = object('PriorityLevelConfigurationSpec', {
  type: required(1, string),
  limited: field(2, LimitedPriorityLevelConfigurationSchema),
  exempt: field(3, ExemptPriorityLevelConfigurationSchema),
});
export type PriorityLevelConfigurationSpec = Infer<typeof PriorityLevelConfigurationSpecSchema>;

export const PriorityLevelConfigurationConditionSchema = object('PriorityLevelConfigurationCondition', {
  type: field(1, string),
  status: field(2, string),
  lastTransitionTime: field(3, time),
  reason: field(4, string),
  message: field(5, string),
});
export type PriorityLevelConfigurationCondition = Infer<typeof PriorityLevelConfigurationConditionSchema>;

export const PriorityLevelConfigurationStatusSchema = object('PriorityLevelConfigurationStatus', {
  conditions: field(1, array(PriorityLevelConfigurationConditionSchema, ['type'])),
});
export type PriorityLevelConfigurationStatus = Infer<typeof PriorityLevelConfigurationStatusSchema>;

export const PriorityLevelConfigurationSchema = object('PriorityLevelConfiguration', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, PriorityLevelConfigurationSpecSchema),
  status: field(3, PriorityLevelConfigurationStatusSchema),
});
export type PriorityLevelConfiguration = Infer<typeof PriorityLevelConfigurationSchema>;
