import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { conditionDocs } from './condition.docs.ts';
import { NamespaceSpecSchema, NamespaceConditionSchema, NamespaceStatusSchema, NamespaceSchema } from './namespace.ts';

export const docs: readonly TypeDocs[] = [
  describe(NamespaceSpecSchema, 'The finalizers of a namespace.', {
    finalizers: 'Tasks that must be completed before the namespace is deleted.',
  }),
  describe(NamespaceConditionSchema, 'A condition of a namespace.', {
    ...conditionDocs,
  }),
  describe(NamespaceStatusSchema, 'The state of a namespace.', {
    phase: 'Active, or Terminating while the namespace is being deleted.',
    conditions: 'Conditions that show what prevents the deletion.',
  }),
  describe(NamespaceSchema, 'A scope for names. Deleting a namespace deletes all its objects.', {}),
];
