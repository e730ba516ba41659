/** DeleteOptions of meta/v1: the body of a DELETE, and what an eviction passes on. */
import { array, boolean, int64, object, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';

export const PreconditionsSchema = object('Preconditions', {
  uid: string,
  resourceVersion: string,
});
export type Preconditions = Infer<typeof PreconditionsSchema>;

export const DeleteOptionsSchema = object('DeleteOptions', {
  kind: string,
  apiVersion: string,
  gracePeriodSeconds: int64,
  preconditions: PreconditionsSchema,
  orphanDependents: boolean,
  propagationPolicy: string,
  dryRun: array(string),
  ignoreStoreReadErrorWithClusterBreakingPotential: boolean,
});
export type DeleteOptions = Infer<typeof DeleteOptionsSchema>;
