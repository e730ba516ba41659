import type { ApiClient } from '../../../api/client/api-client.ts';
import { clusterRoles } from '../../../api/client/resource-types.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import { computeAggregatedRules } from './aggregate-roles.ts';

/** A fallback for missed events and failed writes. */
const SAFETY_NET_MS = 600_000;
const RETRY_MS = 1000;

export interface RoleAggregationOptions {
  readonly reader: ObjectReader;
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Copies the rules of selected roles into `admin`, `edit`, `view` and other aggregated roles. */
export function createRoleAggregation(options: RoleAggregationOptions): { start(): void; stop(): Promise<void> } {
  const { reader, client, clock, random, log } = options;
  let failed = false;
  const pass = async (): Promise<void> => {
    failed = true;
    const all = reader.list(clusterRoles, '');
    for (const role of all) {
      const rules = computeAggregatedRules(role, all);
      if (rules === undefined) continue;
      const { name } = role.metadata;
      const body = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules };
      try {
        await client.patch(
          clusterRoles,
          { namespace: '', name },
          { type: 'apply', body },
          { fieldManager: 'clusterrole-aggregation-controller', force: true },
        );
      } catch (error) {
        if (!isApiError(error, 'NotFound')) throw error;
      }
    }
    failed = false;
  };
  const loop = createLoop({
    name: 'clusterrole-aggregation',
    clock,
    random,
    log,
    periodMs: () => (failed ? RETRY_MS : SAFETY_NET_MS),
    jitterFactor: 0.2,
    pass,
  });
  let stopWatching: (() => void) | undefined;
  return {
    start: () => {
      stopWatching ??= reader.onChange(clusterRoles, () => loop.wake());
      loop.start();
    },
    stop: async () => {
      stopWatching?.();
      await loop.stop();
    },
  };
}
