import type { InitializerConfiguration } from '../../../api/admissionregistration/initializer-configuration.ts';
import { InitializerConfigurationSchema } from '../../../api/admissionregistration/initializer-configuration.ts';
import { initializerConfigurations } from '../../../api/client/resource-types.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { validateInitializerConfiguration } from '../../../api/validation/validate-initializers.ts';
import { defineResource } from '../define-resource.ts';

export const initializerConfigurationResource = defineResource<InitializerConfiguration>({
  type: initializerConfigurations,
  singular: 'initializerconfiguration',
  isAlpha: true,
  schema: InitializerConfigurationSchema,
  storagePath: 'initializerconfigurations',
  rules: {
    applyDefaults: (configuration) => configuration,
    validate: validateInitializerConfiguration,
    validateName: checkDnsSubdomain,
    anyFinalizer: true,
    validateUpdate: validateInitializerConfiguration,
  },
  columns: [
    {
      name: 'Initializers',
      type: 'integer',
      description: 'How many initializers it lists.',
      cell: ({ initializers }) => initializers?.length ?? 0,
    },
  ],
  countsGeneration: true,
});
