import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { webhookDocs } from './webhook.docs.ts';
import { ValidatingWebhookSchema, ValidatingWebhookConfigurationSchema } from './validating-webhook-configuration.ts';

export const docs: readonly TypeDocs[] = [
  describe(ValidatingWebhookSchema, 'A webhook that may reject objects.', webhookDocs),
  describe(
    ValidatingWebhookConfigurationSchema,
    'Configures webhooks that may reject objects before they are stored.',
    {
      webhooks: 'The webhooks.',
    },
  ),
];
