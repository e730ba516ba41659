import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { ServiceAccountSchema } from './service-account.ts';

export const docs: readonly TypeDocs[] = [
  describe(ServiceAccountSchema, 'An identity for pods that access the API.', {
    secrets: 'Secrets that pods of the account may use. Deprecated.',
    imagePullSecrets: 'Secrets with registry credentials that are added to pods of the account.',
    automountServiceAccountToken: 'Whether pods of the account get a token. Pods may override it. Default true.',
  }),
];
