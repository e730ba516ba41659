import { configMaps, secrets } from '../../api/client/resource-types.ts';
import type { ConfigMap } from '../../api/core/config-map.ts';
import { ConfigMapSchema } from '../../api/core/config-map.ts';
import type { Secret } from '../../api/core/secret.ts';
import { SecretSchema } from '../../api/core/secret.ts';
import { defaultSecret } from '../../api/defaults/default-config.ts';
import { checkDnsSubdomain } from '../../api/validation/names.ts';
import { validateConfigMapUpdate, validateSecretUpdate } from '../../api/validation/validate-config-update.ts';
import { validateConfigMap, validateSecret } from '../../api/validation/validate-config.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import { defineResource } from './define-resource.ts';

const countOf = (map: Readonly<Record<string, string>> | undefined): number =>
  map === undefined ? 0 : Object.keys(map).length;

const configMapDefinition: ResourceDefinition<ConfigMap> = {
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
      cell: ({ data, binaryData }) => countOf(data) + countOf(binaryData),
    },
  ],
};

const secretDefinition: ResourceDefinition<Secret> = {
  type: secrets,
  singular: 'secret',
  schema: SecretSchema,
  hideValues: true,
  storagePath: 'secrets',
  rules: {
    applyDefaults: (secret) => (secret.type && secret.stringData === undefined ? secret : defaultSecret(secret)),
    validate: validateSecret,
    validateName: checkDnsSubdomain,
    validateUpdate: validateSecretUpdate,
  },
  selectableFields: ({ type = '' }) => ({ type }),
  columns: [
    { name: 'Type', type: 'string', description: 'What kind of secret it is.', cell: ({ type }) => type ?? '' },
    { name: 'Data', type: 'string', description: 'How many entries it has.', cell: ({ data }) => countOf(data) },
  ],
};

export const configResources: readonly ResourceDefinition[] = [
  defineResource(configMapDefinition),
  defineResource(secretDefinition),
];
