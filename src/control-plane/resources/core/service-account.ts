import { serviceAccounts } from '../../../api/client/resource-types.ts';
import type { ServiceAccount } from '../../../api/core/service-account.ts';
import { ServiceAccountSchema } from '../../../api/core/service-account.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { defineResource } from '../define-resource.ts';
import { serviceAccountToken } from './service-account-token.ts';

const ENFORCE_MOUNTABLE = 'kubernetes.io/enforce-mountable-secrets';

/** Keeps only the names of the secrets. */
function withPlainSecrets(account: ServiceAccount): ServiceAccount {
  return account.secrets === undefined
    ? account
    : { ...account, secrets: account.secrets.map(({ name }) => ({ ...(name !== undefined && { name }) })) };
}

export const serviceAccountResource = defineResource<ServiceAccount>({
  type: serviceAccounts,
  singular: 'serviceaccount',
  shortNames: ['sa'],
  schema: ServiceAccountSchema,
  storagePath: 'serviceaccounts',
  rules: {
    applyDefaults: (account) => account,
    prepareForCreate: withPlainSecrets,
    validate: () => [],
    validateName: checkDnsSubdomain,
    prepareForUpdate: withPlainSecrets,
    validateUpdate: () => [],
    warnings: ({ metadata }, old) =>
      metadata.annotations?.[ENFORCE_MOUNTABLE] !== undefined &&
      old?.metadata.annotations?.[ENFORCE_MOUNTABLE] === undefined
        ? [
            `metadata.annotations[${ENFORCE_MOUNTABLE}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets`,
          ]
        : [],
    returnsDeleted: true,
  },
  columns: [],
  actions: [serviceAccountToken],
});
