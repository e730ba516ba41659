import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { ConfigMapSchema } from './config-map.ts';

export const docs: readonly TypeDocs[] = [
  describe(ConfigMapSchema, 'Configuration data by key. Not for secrets.', {
    immutable: 'Whether the data can no longer be changed; the object can then only be deleted. Default false.',
    data: 'Values that are text. A key must not be in binaryData too.',
    binaryData: 'Values that are bytes, in base64. A key must not be in data too.',
  }),
];
