import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { EvictionSchema } from './eviction.ts';

export const docs: readonly TypeDocs[] = [
  describe(EvictionSchema, 'Evicts a pod, if the PodDisruptionBudgets allow it.', {
    deleteOptions: 'How the pod is deleted.',
  }),
];
