import type { MutatingWebhookConfiguration } from '../../api/admissionregistration/mutating-webhook-configuration.ts';
import { MutatingWebhookConfigurationSchema } from '../../api/admissionregistration/mutating-webhook-configuration.ts';
import type { ValidatingWebhookConfiguration } from '../../api/admissionregistration/validating-webhook-configuration.ts';
import { ValidatingWebhookConfigurationSchema } from '../../api/admissionregistration/validating-webhook-configuration.ts';
import { mutatingWebhookConfigurations, validatingWebhookConfigurations } from '../../api/client/resource-types.ts';
import { defaultMutatingWebhooks, defaultValidatingWebhooks } from '../../api/defaults/default-webhooks.ts';
import { checkDnsSubdomain } from '../../api/validation/names.ts';
import { validateWebhookConfiguration } from '../../api/validation/access/validate-webhooks.ts';
import type { ResourceDefinition, TableColumn } from '../model/resource-definition.ts';
import { defineResource } from './define-resource.ts';

const categories = ['api-extensions'];
const columns: readonly TableColumn<MutatingWebhookConfiguration | ValidatingWebhookConfiguration>[] = [
  {
    name: 'Webhooks',
    type: 'integer',
    description: 'How many webhooks it lists.',
    cell: ({ webhooks }) => webhooks?.length ?? 0,
  },
];

const mutatingDefinition: ResourceDefinition<MutatingWebhookConfiguration> = {
  type: mutatingWebhookConfigurations,
  singular: 'mutatingwebhookconfiguration',
  categories,
  schema: MutatingWebhookConfigurationSchema,
  storagePath: 'mutatingwebhookconfigurations',
  rules: {
    applyDefaults: defaultMutatingWebhooks,
    validate: validateWebhookConfiguration,
    validateName: checkDnsSubdomain,
    anyFinalizer: true,
    validateUpdate: validateWebhookConfiguration,
    requiresResourceVersion: true,
  },
  columns,
  countsGeneration: true,
};

const validatingDefinition: ResourceDefinition<ValidatingWebhookConfiguration> = {
  type: validatingWebhookConfigurations,
  singular: 'validatingwebhookconfiguration',
  categories,
  schema: ValidatingWebhookConfigurationSchema,
  storagePath: 'validatingwebhookconfigurations',
  rules: {
    applyDefaults: defaultValidatingWebhooks,
    validate: validateWebhookConfiguration,
    validateName: checkDnsSubdomain,
    anyFinalizer: true,
    validateUpdate: validateWebhookConfiguration,
    requiresResourceVersion: true,
  },
  columns,
  countsGeneration: true,
};

export const admissionregistrationResources: readonly ResourceDefinition[] = [
  defineResource(mutatingDefinition),
  defineResource(validatingDefinition),
];
