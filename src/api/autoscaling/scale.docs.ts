import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { ScaleSpecSchema, ScaleStatusSchema, ScaleSchema } from './scale.ts';

export const docs: readonly TypeDocs[] = [
  describe(ScaleSpecSchema, 'The desired number of pods.', {
    replicas: 'The desired number of pods. Default 0.',
  }),
  describe(ScaleStatusSchema, 'The current number of pods.', {
    replicas: 'The current number of pods.',
    selector: 'The label selector of the pods, as text.',
  }),
  describe(ScaleSchema, 'Reads or sets the number of pods of a workload.', {}),
];
