import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { PreconditionsSchema, DeleteOptionsSchema } from './delete-options.ts';

export const docs: readonly TypeDocs[] = [
  describe(PreconditionsSchema, 'Conditions on an object that must be met for its deletion.', {
    uid: 'The required uid of the object.',
    resourceVersion: 'The required resourceVersion of the object.',
  }),
  describe(DeleteOptionsSchema, 'Options of a deletion.', {
    gracePeriodSeconds: 'The grace period for termination, in seconds; 0 deletes at once. Default: that of the object.',
    preconditions: 'Conditions that must be met; otherwise nothing is deleted.',
    orphanDependents: 'Deprecated: use propagationPolicy.',
    propagationPolicy:
      'What happens to dependents: Orphan keeps them, Background deletes them after the object, Foreground before it. The default depends on the kind.',
    dryRun: 'All: the request is processed completely, but nothing is stored.',
    ignoreStoreReadErrorWithClusterBreakingPotential: 'Deletes the object even if the stored data cannot be read.',
  }),
];
