/**
 * StorageVersionMigration of storagemigration.k8s.io/v1beta1. The fields follow k8s.io/api/storagemigration/v1beta1.
 */
import { array, field, filled, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ConditionSchema } from '../core/condition.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

export const GroupResourceSchema = object('GroupResource', {
  group: required(1, string),
  resource: required(2, string),
});
export type GroupResource = Infer<typeof GroupResourceSchema>;

export const StorageVersionMigrationSpecSchema = object('StorageVersionMigrationSpec', {
  resource: required(1, GroupResourceSchema),
});
export type StorageVersionMigrationSpec = Infer<typeof StorageVersionMigrationSpecSchema>;

export const StorageVersionMigrationStatusSchema = object('StorageVersionMigrationStatus', {
  conditions: field(1, array(ConditionSchema, ['type'])),
  resourceVersion: field(2, string),
});
export type StorageVersionMigrationStatus = Infer<typeof StorageVersionMigrationStatusSchema>;

/** Cluster-scoped. */
export const StorageVersionMigrationSchema = object('StorageVersionMigration', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, StorageVersionMigrationSpecSchema),
  status: field(3, StorageVersionMigrationStatusSchema),
});
export type StorageVersionMigration = Infer<typeof StorageVersionMigrationSchema>;

export type MigrationConditionType = 'Running' | 'Succeeded' | 'Failed';
