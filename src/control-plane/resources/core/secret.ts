import { secrets } from '../../../api/client/resource-types.ts';
import type { Secret } from '../../../api/core/secret.ts';
import { SecretSchema } from '../../../api/core/secret.ts';
import { defaultSecret } from '../../../api/defaults/default-config.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { validateSecretUpdate } from '../../../api/validation/validate-config-update.ts';
import { validateSecret } from '../../../api/validation/validate-config.ts';
import { defineResource } from '../define-resource.ts';
import { countEntries } from '../print-cells.ts';

export const secretResource = defineResource<Secret>({
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
    { name: 'Data', type: 'string', description: 'How many entries it has.', cell: ({ data }) => countEntries(data) },
  ],
});
