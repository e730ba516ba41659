/** MutatingWebhookConfiguration of admissionregistration.k8s.io/v1. Which fields exist follows k8s.io/api/admissionregistration/v1. */
import { array, object, oneOf, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from '../core/meta.ts';
import { webhookFields } from './webhook.ts';

export const ReinvocationPolicySchema = oneOf('Never', 'IfNeeded');
export type ReinvocationPolicy = Infer<typeof ReinvocationPolicySchema>;

export const MutatingWebhookSchema = object('MutatingWebhook', {
  ...webhookFields,
  reinvocationPolicy: ReinvocationPolicySchema,
});
export type MutatingWebhook = Infer<typeof MutatingWebhookSchema>;

/** Not in any namespace. */
export const MutatingWebhookConfigurationSchema = object('MutatingWebhookConfiguration', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  webhooks: array(MutatingWebhookSchema, ['name']),
});
export type MutatingWebhookConfiguration = Infer<typeof MutatingWebhookConfigurationSchema>;

export const MutatingWebhookConfigurationListSchema = object('MutatingWebhookConfigurationList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(MutatingWebhookConfigurationSchema)),
});
export type MutatingWebhookConfigurationList = Infer<typeof MutatingWebhookConfigurationListSchema>;
