import { storageVersionMigrations } from '../../../api/client/resource-types.ts';
import { formatGroupResource } from '../../../api/status/api-status-error.ts';
import type { StorageVersionMigration } from '../../../api/storagemigration/storage-version-migration.ts';
import { StorageVersionMigrationSchema } from '../../../api/storagemigration/storage-version-migration.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import {
  validateStorageVersionMigration,
  validateStorageVersionMigrationStatus,
  validateStorageVersionMigrationUpdate,
} from '../../../api/validation/storagemigration/validate-storage-version-migration.ts';
import { defineResource } from '../define-resource.ts';
import { keepMetadata } from '../keep-metadata.ts';

const shownConditions = new Set(['Running', 'Failed', 'Succeeded']);

export const storageVersionMigrationResource = defineResource<StorageVersionMigration>({
  type: storageVersionMigrations,
  gate: 'StorageVersionMigrator',
  singular: 'storageversionmigration',
  schema: StorageVersionMigrationSchema,
  storagePath: 'storageversionmigrations',
  rules: {
    applyDefaults: (migration) => migration,
    prepareForCreate: (migration) => ({ ...migration, status: {} }),
    validate: validateStorageVersionMigration,
    validateName: checkDnsSubdomain,
    validateUpdate: validateStorageVersionMigrationUpdate,
    prepareForStatusUpdate: (migration, old) => ({ ...keepMetadata(migration, old), spec: old.spec }),
    validateStatusUpdate: validateStorageVersionMigrationStatus,
    requiresResourceVersion: true,
  },
  hasStatus: true,
  resetFields: { status: ['metadata', 'spec'] },
  hasNoAge: true,
  columns: [
    {
      name: 'Resource',
      type: 'string',
      description: 'What is migrated.',
      cell: ({ spec: { resource } }) => formatGroupResource({ group: resource.group, plural: resource.resource }),
    },
    {
      name: 'Status',
      type: 'string',
      description: 'Running, Succeeded, Failed or Unknown.',
      cell: ({ status }) =>
        status?.conditions?.findLast((each) => each.status === 'True' && shownConditions.has(each.type))?.type ??
        'Unknown',
    },
  ],
});
