import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { ConditionSchema } from './condition.ts';

/** Texts for fields that all types of conditions have. */
export const conditionDocs = {
  type: 'The type of the condition.',
  status: 'Whether it holds: True, False or Unknown.',
  observedGeneration: 'The `metadata.generation` that the condition was found for.',
  lastUpdateTime: 'When the condition was last written.',
  lastProbeTime: 'When the condition was last checked.',
  lastTransitionTime: 'When the status last changed.',
  reason: 'The reason of the status, as one word for programs.',
  message: 'The reason of the status, as a text for people.',
};

export const docs: readonly TypeDocs[] = [
  describe(ConditionSchema, 'An aspect of the state of an object, such as Ready.', conditionDocs),
];
