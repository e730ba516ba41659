import { configMaps } from '../../../api/client/resource-types.ts';
import type { ConfigMap } from '../../../api/core/config-map.ts';
import { ConfigMapSchema } from '../../../api/core/config-map.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { validateConfigMapUpdate } from '../../../api/validation/validate-config-update.ts';
import { validateConfigMap } from '../../../api/validation/validate-config.ts';
import { defineResource } from '../define-resource.ts';
import { countEntries } from '../print-cells.ts';

export const configMapResource = defineResource<ConfigMap>({
  type: configMaps,
  singular: 'configmap',
  shortNames: ['cm'],
  schema: ConfigMapSchema,
  storagePath: 'configmaps',
  rules: {
    applyDefaults: (configMap) => configMap,
    validate: validateConfigMap,
    validateName: checkDnsSubdomain,
    validateUpdate: validateConfigMapUpdate,
  },
  columns: [
    {
      name: 'Data',
      type: 'string',
      description: 'How many entries it has.',
      cell: ({ data, binaryData }) => countEntries(data) + countEntries(binaryData),
    },
  ],
});
