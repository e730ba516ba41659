/**
 * ValidatingWebhookConfiguration of admissionregistration.k8s.io/v1. The fields follow
 * k8s.io/api/admissionregistration/v1.
 */
import { array, field, filled, object, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';
import { webhookFields } from './webhook.ts';

export const ValidatingWebhookSchema = object('ValidatingWebhook', {
  ...webhookFields({ objectSelector: 10, matchConditions: 11 }),
});
export type ValidatingWebhook = Infer<typeof ValidatingWebhookSchema>;

/** Cluster-scoped. */
export const ValidatingWebhookConfigurationSchema = object('ValidatingWebhookConfiguration', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  webhooks: field(2, array(ValidatingWebhookSchema, ['name'])),
});
export type ValidatingWebhookConfiguration = Infer<typeof ValidatingWebhookConfigurationSchema>;
