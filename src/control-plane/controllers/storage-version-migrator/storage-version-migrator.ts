import { storageVersionMigrations } from '../../../api/client/resource-types.ts';
import type { ResourceType } from '../../../api/client/resource-type.ts';
import { apiVersionOf } from '../../../api/client/resource-type.ts';
import { isConditionTrue, withCondition } from '../../../api/conditions.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type {
  GroupResource,
  MigrationConditionType,
  StorageVersionMigration,
} from '../../../api/storagemigration/storage-version-migration.ts';
import { parseTime } from '../../../api/time.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import type { CustomKinds } from '../../controller-runtime/custom-kinds.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { migrateObjects, isRetriable } from './migrate-objects.ts';
import type { MigratedKind } from './migrate-objects.ts';
import { MigratedDefinition } from './migrated-definition.ts';
import { nextMigration, planMigration } from './plan-migration.ts';

/** The number of concurrent syncs (upstream: workers). */
const WORKERS = 5;
/** The time to wait for an unknown kind. Discovery of upstream's controller takes as long. */
const KIND_PATIENCE_MS = 60_000;

export interface StorageVersionMigratorOptions extends ControllerOptions {
  /** The built-in kinds in their preferred versions. */
  readonly types: readonly ResourceType[];
  /** The built-in kinds without the verbs list, update and patch. */
  readonly unwritable: readonly ResourceType[];
  readonly customKinds: CustomKinds;
}

/**
 * Rewrites the objects of a resource, so that all are stored in the current storage version (upstream:
 * storageversionmigrator).
 * 1. One migration of a resource runs at a time.
 * 2. Every step is recorded in a status before the next one, so a restart repeats at most one step.
 * 3. An object is written only if it is unchanged since it was listed.
 * 4. A deleted migration stops.
 */
export function createStorageVersionMigrator(options: StorageVersionMigratorOptions): Controller {
  const { clock, log } = options;
  const migrations = options.informers.for(storageVersionMigrations);
  const migrator = new Migrator(options, (name) => migrations.get({ namespace: '', name }));
  const queue = new RateLimitingQueue({
    name: 'storage-version-migrations',
    clock,
    log,
    workers: WORKERS,
    sync: (name) => migrator.sync(name, migrations.list()),
  });
  const wake = ({ metadata }: StorageVersionMigration): void => queue.add(metadata.name);
  const wakeNext = (migration: StorageVersionMigration): void => {
    const next = nextMigration(migration, migrations.list());
    if (next !== undefined) wake(next);
  };
  const ends = [
    migrations.addHandlers({
      onAdd: wake,
      onUpdate: (_, after) => {
        wake(after);
        wakeNext(after);
      },
      onDelete: wakeNext,
    }),
    // A running migration may have waited for its kind.
    options.customKinds.onChange(() => {
      for (const each of migrations.list()) if (isConditionTrue(each.status?.conditions, 'Running')) wake(each);
    }),
  ];
  const controller = runController({
    name: 'storage version migrator',
    log,
    queues: [queue],
    informers: [migrations],
    ends,
  });
  return {
    start: controller.start,
    stop: () => {
      migrator.stop();
      return controller.stop();
    },
  };
}

class Migrator {
  readonly #options: StorageVersionMigratorOptions;
  readonly #find: (name: string) => StorageVersionMigration | undefined;
  readonly #definition: MigratedDefinition;
  #isStopped = false;

  constructor(options: StorageVersionMigratorOptions, find: (name: string) => StorageVersionMigration | undefined) {
    this.#options = options;
    this.#find = find;
    this.#definition = new MigratedDefinition(options.client, () => options.clock.nowMs());
  }

  stop(): void {
    this.#isStopped = true;
  }

  async sync(name: string, all: readonly StorageVersionMigration[]): Promise<number | undefined> {
    const migration = this.#find(name);
    if (migration === undefined) return undefined;
    const step = planMigration(migration, all);
    if (step === 'begin') await this.#begin(migration);
    if (step === 'close') await this.#close(migration);
    if (step === 'mark' || step === 'migrate') return this.#advance(migration, step);
    return undefined;
  }

  async #begin(migration: StorageVersionMigration): Promise<void> {
    await this.#definition.begin(migration.spec.resource, migration.metadata.name);
    await this.#writeCondition(migration, 'Running', 'MigrationRunning', 'The migration is running');
  }

  async #close(migration: StorageVersionMigration): Promise<void> {
    await this.#definition.end(migration.spec.resource, isConditionTrue(migration.status?.conditions, 'Succeeded'));
    const { generation } = migration.metadata;
    await this.#writeCondition(migration, 'Running', 'MigrationCompleted', 'Migration completed', {
      status: 'False',
      ...(generation !== undefined && { observedGeneration: BigInt(generation) }),
    });
  }

  async #advance(migration: StorageVersionMigration, step: 'mark' | 'migrate'): Promise<number | undefined> {
    const { resource } = migration.spec;
    const refused = this.#options.unwritable.find(isOf(resource));
    if (refused !== undefined)
      return this.#fail(
        migration,
        `resource "${apiVersionOf(refused)}, Resource=${refused.plural}" does not support discovery operations: [update patch list]`,
      );
    const kind = this.#kindOf(resource);
    if (kind === undefined) {
      const createdMs = parseTime(migration.metadata.creationTimestamp) ?? 0;
      const leftMs = createdMs + KIND_PATIENCE_MS - this.#options.clock.nowMs();
      return leftMs > 0 ? leftMs : this.#fail(migration, 'resource does not exist in discovery');
    }
    return step === 'mark' ? this.#mark(migration, kind) : this.#migrate(migration, kind);
  }

  async #mark(migration: StorageVersionMigration, { listed }: MigratedKind): Promise<undefined> {
    const { resourceVersion } = await this.#options.client.list(listed, '', { limit: 1 });
    await this.#write(migration, { ...migration.status, resourceVersion });
    return undefined;
  }

  async #migrate(migration: StorageVersionMigration, kind: MigratedKind): Promise<undefined> {
    const { name, uid } = migration.metadata;
    const isWanted = (): boolean => !this.#isStopped && this.#find(name)?.metadata.uid === uid;
    try {
      const upTo = migration.status?.resourceVersion ?? '';
      if (!(await migrateObjects(this.#options.client, kind, upTo, isWanted))) return undefined;
    } catch (error) {
      if (isRetriable(error)) throw error;
      return this.#fail(migration, `migration encountered unhandled error: ${errorMessage(error)}`);
    }
    await this.#writeCondition(migration, 'Succeeded', 'StorageVersionMigrationSucceeded', '');
    return undefined;
  }

  #kindOf(resource: GroupResource): MigratedKind | undefined {
    const builtIn = this.#options.types.find(isOf(resource));
    if (builtIn !== undefined) return { listed: builtIn, served: builtIn };
    const custom = this.#options.customKinds.find({ group: resource.group ?? '', plural: resource.resource ?? '' });
    return custom?.served === undefined ? undefined : { listed: custom.type, served: custom.served };
  }

  async #fail(migration: StorageVersionMigration, message: string): Promise<undefined> {
    await this.#writeCondition(migration, 'Failed', 'StorageVersionMigrationFailed', message);
    return undefined;
  }

  #writeCondition(
    migration: StorageVersionMigration,
    type: MigrationConditionType,
    reason: string,
    message: string,
    more: { readonly status?: 'False'; readonly observedGeneration?: bigint } = {},
  ): Promise<void> {
    const condition = { type, status: 'True' as const, reason, message, lastTransitionTime: '', ...more };
    const conditions = withCondition(migration.status?.conditions, condition, this.#options.clock.nowMs());
    return this.#write(migration, { ...migration.status, conditions });
  }

  async #write(migration: StorageVersionMigration, status: StorageVersionMigration['status']): Promise<void> {
    try {
      await this.#options.client.update(
        storageVersionMigrations,
        { ...migration, ...(status !== undefined && { status }) },
        { subresource: 'status' },
      );
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
  }
}

const isOf =
  ({ group, resource }: GroupResource) =>
  (type: ResourceType): boolean =>
    type.group === group && type.plural === resource;
