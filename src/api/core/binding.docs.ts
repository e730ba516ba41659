import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { BindingSchema } from './binding.ts';

export const docs: readonly TypeDocs[] = [
  describe(BindingSchema, 'Assigns a pod to a node.', {
    target: 'The node.',
  }),
];
