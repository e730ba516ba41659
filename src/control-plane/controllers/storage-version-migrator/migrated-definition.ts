import type { ApiClient } from '../../../api/client/api-client.ts';
import type { GroupResource } from '../../../api/storagemigration/storage-version-migration.ts';
import { findCrdCondition, storageVersionOf } from '../../../api/apiextensions/custom-resource-definition.ts';
import type { CustomResourceDefinition } from '../../../api/apiextensions/custom-resource-definition.ts';
import { customResourceDefinitions } from '../../../api/client/resource-types.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { transitionTime } from '../../../api/conditions.ts';

/** The field manager of upstream's controller. */
const FIELD_MANAGER = 'migration-runner-controller';
const CONDITION = 'StorageMigrating';

/** Writes the result of a migration into the status of a custom kind's definition (upstream: migrationrunner.go). */
export class MigratedDefinition {
  readonly #client: ApiClient;
  readonly #nowMs: () => number;

  constructor(client: ApiClient, nowMs: () => number) {
    this.#client = client;
    this.#nowMs = nowMs;
  }

  async begin(resource: GroupResource, migration: string): Promise<void> {
    const definition = await this.#find(resource);
    if (definition === undefined) return;
    await this.#apply(definition, 'True', 'MigrationRunning', `Migration ${migration} is running`);
  }

  /**
   * Ends the migration. If the definition has not changed since its start, no object is stored in another version any
   * more.
   */
  async end(resource: GroupResource, succeeded: boolean): Promise<void> {
    const definition = await this.#find(resource);
    if (definition === undefined) return;
    const begun = findCrdCondition(definition, CONDITION)?.observedGeneration;
    const isSame = begun !== undefined && begun === definition.metadata.generation;
    if (!succeeded) return this.#apply(definition, 'False', 'MigrationFailed', 'The migration has failed');
    const outcome = isSame
      ? 'and the stored versions have been updated'
      : 'but the stored versions have not been updated due to a generation mismatch';
    await this.#apply(
      definition,
      'False',
      'MigrationSucceeded',
      `The migration has succeeded ${outcome}`,
      isSame ? { storedVersions: [storageVersionOf(definition)] } : {},
    );
  }

  async #find({ group, resource }: GroupResource): Promise<CustomResourceDefinition | undefined> {
    try {
      return await this.#client.get(customResourceDefinitions, { namespace: '', name: `${resource}.${group}` });
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /** Writes on the condition that the definition is unchanged. A conflict is an error, and the pass is repeated. */
  async #apply(
    definition: CustomResourceDefinition,
    status: 'True' | 'False',
    reason: string,
    message: string,
    more: { readonly storedVersions?: readonly string[] } = {},
  ): Promise<void> {
    const { name, resourceVersion, generation: observedGeneration } = definition.metadata;
    const lastTransitionTime = transitionTime(findCrdCondition(definition, CONDITION), status, this.#nowMs());
    const condition = { type: CONDITION, status, lastTransitionTime, reason, message, observedGeneration };
    await this.#client.patch(
      customResourceDefinitions,
      { namespace: '', name },
      { type: 'apply', body: { metadata: { name, resourceVersion }, status: { conditions: [condition], ...more } } },
      { subresource: 'status', fieldManager: FIELD_MANAGER, force: true },
    );
  }
}
