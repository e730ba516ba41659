import { isConditionTrue } from '../../../api/conditions.ts';
import type { StorageVersionMigration } from '../../../api/storagemigration/storage-version-migration.ts';

/** The next step of a migration. Each step ends with a write of its status, which triggers the next one. */
export type MigrationStep =
  | 'nothing'
  /** Another migration of the same resource is running or comes first. */
  | 'wait'
  | 'begin'
  /** Record the version of the cluster. Objects that are written later need no migration. */
  | 'mark'
  | 'migrate'
  /** The migration has succeeded or failed, so the resource is free for the next one. */
  | 'close';

/**
 * Plans the next step. One migration of a resource runs at a time, the oldest first (upstream: migrationrunner.go
 * getSVMsForResource).
 */
export function planMigration(
  migration: StorageVersionMigration,
  others: readonly StorageVersionMigration[],
): MigrationStep {
  const { status } = migration;
  if (isOver(migration)) return isRunning(migration) ? 'close' : 'nothing';
  if (isRunning(migration)) return (status?.resourceVersion ?? '') === '' ? 'mark' : 'migrate';
  const isFirst = siblingsOf(migration, others).every(
    (other) => !isRunning(other) && (isOver(other) || compareAge(migration, other) < 0),
  );
  return isFirst ? 'begin' : 'wait';
}

/** Returns the migration that may start when this one is closed or deleted. */
export function nextMigration(
  migration: StorageVersionMigration,
  all: readonly StorageVersionMigration[],
): StorageVersionMigration | undefined {
  let next: StorageVersionMigration | undefined;
  for (const other of siblingsOf(migration, all)) {
    if (isRunning(other) || isOver(other)) continue;
    if (next === undefined || compareAge(other, next) < 0) next = other;
  }
  return next;
}

const isRunning = ({ status }: StorageVersionMigration): boolean => isConditionTrue(status?.conditions, 'Running');

const isOver = ({ status }: StorageVersionMigration): boolean =>
  isConditionTrue(status?.conditions, 'Succeeded') || isConditionTrue(status?.conditions, 'Failed');

function siblingsOf(
  { metadata, spec: { resource } }: StorageVersionMigration,
  all: readonly StorageVersionMigration[],
): readonly StorageVersionMigration[] {
  return all.filter(
    (other) =>
      other.metadata.name !== metadata.name &&
      other.spec.resource.resource === resource.resource &&
      other.spec.resource.group === resource.group,
  );
}

/** Compares creation times. Timestamps of the API have one format, so they compare as texts. */
function compareAge({ metadata: left }: StorageVersionMigration, { metadata: right }: StorageVersionMigration): number {
  const [first, second] = [left.creationTimestamp ?? '', right.creationTimestamp ?? ''];
  if (first !== second) return first < second ? -1 : 1;
  return left.name < right.name ? -1 : 1;
}
