import type { MutatingWebhookConfiguration } from '../../../api/admissionregistration/mutating-webhook-configuration.ts';
import type { ValidatingWebhookConfiguration } from '../../../api/admissionregistration/validating-webhook-configuration.ts';
import type { TableColumn } from '../../model/resource-definition.ts';

export const webhookCategories = ['api-extensions'];

export const webhookColumns: readonly TableColumn<MutatingWebhookConfiguration | ValidatingWebhookConfiguration>[] = [
  {
    name: 'Webhooks',
    type: 'integer',
    description: 'How many webhooks it lists.',
    cell: ({ webhooks }) => webhooks?.length ?? 0,
  },
];
