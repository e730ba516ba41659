import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { PodTemplateSchema, PodTemplateSpecSchema } from './pod-template.ts';

export const docs: readonly TypeDocs[] = [
  describe(PodTemplateSpecSchema, 'The template from which pods are created.', {
    metadata: 'The labels and annotations of the pods.',
    spec: 'The desired state of the pods.',
  }),
  describe(PodTemplateSchema, 'A template of pods that stands alone, for controllers of other projects.', {
    template: 'The template of the pods.',
  }),
];
