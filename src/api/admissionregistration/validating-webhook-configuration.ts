/** ValidatingWebhookConfiguration of admissionregistration.k8s.io/v1. Which fields exist follows k8s.io/api/admissionregistration/v1. */
import { array, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from '../core/meta.ts';
import { webhookFields } from './webhook.ts';

export const ValidatingWebhookSchema = object('ValidatingWebhook', {
  ...webhookFields,
});
export type ValidatingWebhook = Infer<typeof ValidatingWebhookSchema>;

/** Not in any namespace. */
export const ValidatingWebhookConfigurationSchema = object('ValidatingWebhookConfiguration', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  webhooks: array(ValidatingWebhookSchema, ['name']),
});
export type ValidatingWebhookConfiguration = Infer<typeof ValidatingWebhookConfigurationSchema>;

export const ValidatingWebhookConfigurationListSchema = object('ValidatingWebhookConfigurationList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(ValidatingWebhookConfigurationSchema)),
});
export type ValidatingWebhookConfigurationList = Infer<typeof ValidatingWebhookConfigurationListSchema>;
