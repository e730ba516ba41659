import type { MutatingWebhookConfiguration } from '../../../api/admissionregistration/mutating-webhook-configuration.ts';
import { MutatingWebhookConfigurationSchema } from '../../../api/admissionregistration/mutating-webhook-configuration.ts';
import { mutatingWebhookConfigurations } from '../../../api/client/resource-types.ts';
import { defaultMutatingWebhooks } from '../../../api/defaults/default-webhooks.ts';
import {
  validateWebhookConfiguration,
  validateWebhookConfigurationUpdate,
} from '../../../api/validation/access/validate-webhooks.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { checkMatchCondition } from '../../cel/policy-checks.ts';
import { defineResource } from '../define-resource.ts';
import { webhookCategories, webhookColumns } from './webhook-columns.ts';

export const mutatingWebhookConfigurationResource = defineResource<MutatingWebhookConfiguration>({
  type: mutatingWebhookConfigurations,
  singular: 'mutatingwebhookconfiguration',
  categories: webhookCategories,
  schema: MutatingWebhookConfigurationSchema,
  storagePath: 'mutatingwebhookconfigurations',
  rules: {
    applyDefaults: defaultMutatingWebhooks,
    validate: (configuration) => validateWebhookConfiguration(configuration, checkMatchCondition),
    validateName: checkDnsSubdomain,
    anyFinalizer: true,
    validateUpdate: (configuration, old) => validateWebhookConfigurationUpdate(configuration, old, checkMatchCondition),
    requiresResourceVersion: true,
  },
  columns: webhookColumns,
  countsGeneration: true,
});
