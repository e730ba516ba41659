/** DeleteOptions of meta/v1: the body of a DELETE; an eviction has them too. */
import { array, boolean, field, smallInt64, object, pointer, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';

export const PreconditionsSchema = object('Preconditions', {
  uid: pointer(1, string),
  resourceVersion: pointer(2, string),
});
export type Preconditions = Infer<typeof PreconditionsSchema>;

export const DeleteOptionsSchema = object('DeleteOptions', {
  kind: string,
  apiVersion: string,
  gracePeriodSeconds: pointer(1, smallInt64),
  preconditions: field(2, PreconditionsSchema),
  orphanDependents: pointer(3, boolean),
  propagationPolicy: pointer(4, string),
  dryRun: field(5, array(string)),
  ignoreStoreReadErrorWithClusterBreakingPotential: pointer(6, boolean),
});
export type DeleteOptions = Infer<typeof DeleteOptionsSchema>;
