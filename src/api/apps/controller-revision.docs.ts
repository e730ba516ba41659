import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { ControllerRevisionSchema } from './controller-revision.ts';

export const docs: readonly TypeDocs[] = [
  describe(ControllerRevisionSchema, 'A stored revision of the state of a controller, for rollbacks.', {
    data: 'The state. Cannot be changed.',
    revision: 'The number of the revision.',
  }),
];
