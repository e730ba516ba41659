/**
 * MutatingWebhookConfiguration of admissionregistration.k8s.io/v1. The fields follow
 * k8s.io/api/admissionregistration/v1.
 */
import { array, field, filled, object, oneOf, pointer, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';
import { webhookFields } from './webhook.ts';

const ReinvocationPolicySchema = oneOf('Never', 'IfNeeded');
export type ReinvocationPolicy = Infer<typeof ReinvocationPolicySchema>;

export const MutatingWebhookSchema = object('MutatingWebhook', {
  ...webhookFields({ objectSelector: 11, matchConditions: 12 }),
  reinvocationPolicy: pointer(10, ReinvocationPolicySchema),
});
export type MutatingWebhook = Infer<typeof MutatingWebhookSchema>;

/** Cluster-scoped. */
export const MutatingWebhookConfigurationSchema = object('MutatingWebhookConfiguration', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  webhooks: field(2, array(MutatingWebhookSchema, ['name'])),
});
export type MutatingWebhookConfiguration = Infer<typeof MutatingWebhookConfigurationSchema>;
