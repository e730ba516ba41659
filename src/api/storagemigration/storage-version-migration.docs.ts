import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  GroupResourceSchema,
  StorageVersionMigrationSchema,
  StorageVersionMigrationSpecSchema,
  StorageVersionMigrationStatusSchema,
} from './storage-version-migration.ts';

export const docs: readonly TypeDocs[] = [
  describe(GroupResourceSchema, 'A resource of any version.', {
    group: 'The API group; empty for the core group.',
    resource: 'The plural name of the resource, such as deployments.',
  }),
  describe(StorageVersionMigrationSpecSchema, 'What is migrated.', {
    resource: 'The resource whose objects are written again. It cannot be changed.',
  }),
  describe(StorageVersionMigrationStatusSchema, 'The progress of a migration.', {
    conditions: 'Running, Succeeded and Failed. At most one of Succeeded and Failed is True, and then it stays True.',
    resourceVersion:
      'The version of the cluster when the migration began. Objects that were written later are in the storage version already. It cannot be changed.',
  }),
  describe(
    StorageVersionMigrationSchema,
    'Writes all objects of a resource again, so that each is stored in the current storage version.',
    {},
  ),
];
