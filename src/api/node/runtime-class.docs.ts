import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { OverheadSchema, RuntimeClassSchedulingSchema, RuntimeClassSchema } from './runtime-class.ts';

export const docs: readonly TypeDocs[] = [
  describe(OverheadSchema, 'The resources that a pod needs in addition to its containers.', {
    podFixed: 'The amounts for each pod.',
  }),
  describe(RuntimeClassSchedulingSchema, 'The nodes that support a RuntimeClass.', {
    nodeSelector: 'Labels of the nodes.',
    tolerations: 'Tolerations that are added to the pods.',
  }),
  describe(RuntimeClassSchema, 'A class of container runtime.', {
    handler: 'The handler in the configuration of the container runtime. Cannot be changed.',
    overhead: 'The resources that a pod needs in addition to its containers.',
    scheduling: 'The nodes that support the class. Absent: all.',
  }),
];
