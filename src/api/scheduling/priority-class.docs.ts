import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { PriorityClassSchema } from './priority-class.ts';

export const docs: readonly TypeDocs[] = [
  describe(PriorityClassSchema, 'A name for a priority of pods.', {
    value: 'The priority. Pods with a higher value are scheduled first.',
    globalDefault: 'Whether pods without a class get this one. At most one class may set it. Default false.',
    description: 'When to use the class.',
    preemptionPolicy:
      'Whether the pods may preempt pods of lower priority: PreemptLowerPriority or Never. Default PreemptLowerPriority.',
  }),
];
