import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { RoleSchema } from './role.ts';

export const docs: readonly TypeDocs[] = [
  describe(RoleSchema, 'Permissions in one namespace.', {
    rules: 'The permissions.',
  }),
];
