import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { webhookDocs } from './webhook.docs.ts';
import { MutatingWebhookSchema, MutatingWebhookConfigurationSchema } from './mutating-webhook-configuration.ts';

export const docs: readonly TypeDocs[] = [
  describe(MutatingWebhookSchema, 'A webhook that may change objects.', {
    ...webhookDocs,
    reinvocationPolicy:
      'IfNeeded calls the webhook again when other admission plugins changed the object after its call; Never does not. Default Never.',
  }),
  describe(MutatingWebhookConfigurationSchema, 'Configures webhooks that may change objects before they are stored.', {
    webhooks: 'The webhooks.',
  }),
];
