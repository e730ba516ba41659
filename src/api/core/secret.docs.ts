import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { SecretSchema } from './secret.ts';

export const docs: readonly TypeDocs[] = [
  describe(SecretSchema, 'Confidential data by key, such as passwords and keys.', {
    immutable: 'Whether the data can no longer be changed; the object can then only be deleted. Default false.',
    data: 'The values, in base64.',
    stringData: 'Values as text, which are merged into `data` when written; never returned.',
    type: 'The type of the data, such as kubernetes.io/tls. Default Opaque. Cannot be changed.',
  }),
];
