import type { ValidatingWebhookConfiguration } from '../../../api/admissionregistration/validating-webhook-configuration.ts';
import { ValidatingWebhookConfigurationSchema } from '../../../api/admissionregistration/validating-webhook-configuration.ts';
import { validatingWebhookConfigurations } from '../../../api/client/resource-types.ts';
import { defaultValidatingWebhooks } from '../../../api/defaults/default-webhooks.ts';
import {
  validateWebhookConfiguration,
  validateWebhookConfigurationUpdate,
} from '../../../api/validation/access/validate-webhooks.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { checkMatchCondition } from '../../cel/policy-checks.ts';
import { defineResource } from '../define-resource.ts';
import { webhookCategories, webhookColumns } from './webhook-columns.ts';

export const validatingWebhookConfigurationResource = defineResource<ValidatingWebhookConfiguration>({
  type: validatingWebhookConfigurations,
  singular: 'validatingwebhookconfiguration',
  categories: webhookCategories,
  schema: ValidatingWebhookConfigurationSchema,
  storagePath: 'validatingwebhookconfigurations',
  rules: {
    applyDefaults: defaultValidatingWebhooks,
    validate: (configuration) => validateWebhookConfiguration(configuration, checkMatchCondition),
    validateName: checkDnsSubdomain,
    anyFinalizer: true,
    validateUpdate: (configuration, old) => validateWebhookConfigurationUpdate(configuration, old, checkMatchCondition),
    requiresResourceVersion: true,
  },
  columns: webhookColumns,
  countsGeneration: true,
});
