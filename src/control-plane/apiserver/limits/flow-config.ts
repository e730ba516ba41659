import { createHash } from 'node:crypto';
import { flowSchemas, priorityLevelConfigurations } from '../../../api/client/resource-types.ts';
import type { FlowSchema as FlowSchemaObject, PolicyRulesWithSubjects } from '../../../api/flowcontrol/flow-schema.ts';
import type {
  PriorityLevelConfiguration,
  PriorityLevelConfigurationSpec,
} from '../../../api/flowcontrol/priority-level-configuration.ts';
import { standardFlowSchemas, standardPriorityLevels } from '../../../api/flowcontrol/standard-objects.ts';
import type { StandardObject } from '../../../api/flowcontrol/standard-objects.ts';
import type { ObjectReader } from '../../model/object-reader.ts';

/** The limits of priority levels, from PriorityLevelConfigurations. */
export interface PriorityLevel {
  readonly name: string;
  readonly uid: string;
  /** The share of all seats, relative to the shares of other levels. */
  readonly shares: number;
  /** The percentage of its seats that other levels may borrow while they are unused. */
  readonly lendablePercent: number;
  /** The number of seats that it may borrow, as a percentage of its own seats. It is absent for no limit. */
  readonly borrowingPercent?: number;
  /** The limit. `exempt` never waits. `reject` has no queues: requests without a free seat are rejected. */
  readonly limit:
    | 'exempt'
    | 'reject'
    | { readonly queues: number; readonly handSize: number; readonly queueLength: number };
}

/** The requests of a level, and how they are divided into flows. */
export interface FlowSchema {
  readonly name: string;
  readonly uid: string;
  readonly level: string;
  readonly distinguisher: 'user' | 'namespace' | 'none';
  readonly rules: readonly PolicyRulesWithSubjects[];
}

export interface FlowConfig {
  readonly levels: readonly PriorityLevel[];
  /** The schemas in matching order. */
  readonly schemas: readonly FlowSchema[];
}

/** The limit of queues. The API allows ten million, but each request that starts compares all queues. */
const MOST_QUEUES = 1024;

type Named<Spec> = { readonly metadata: { readonly name: string; readonly uid: string }; readonly spec: Spec };

/**
 * Computes the configuration from the objects (upstream: util/flowcontrol apf_controller). Mandatory objects apply even
 * if they are not stored; without any object all standard ones apply. Schemas with a missing level are ignored.
 */
export function computeFlowConfig(
  levels: readonly PriorityLevelConfiguration[],
  schemas: readonly FlowSchemaObject[],
): FlowConfig {
  const isEmpty = levels.length === 0 && schemas.length === 0;
  const allLevels = withStandard(levels, standardPriorityLevels, { isEmpty, type: priorityLevelConfigurations });
  const names = new Set(allLevels.map(({ metadata }) => metadata.name));
  return {
    levels: allLevels.map(readLevel),
    schemas: withStandard(schemas, standardFlowSchemas, { isEmpty, type: flowSchemas })
      .filter(({ spec }) => names.has(spec.priorityLevelConfiguration.name))
      .sort(
        (one, other) =>
          one.spec.matchingPrecedence - other.spec.matchingPrecedence ||
          (one.metadata.name < other.metadata.name ? -1 : 1),
      )
      .map(({ metadata: { name, uid }, spec }) => ({
        name,
        uid,
        level: spec.priorityLevelConfiguration.name,
        distinguisher: distinguisherOf(spec.distinguisherMethod?.type),
        rules: spec.rules ?? [],
      })),
  };
}

/** The configuration of a server without configuration objects. */
export const standardFlowConfig: FlowConfig = computeFlowConfig([], []);

/** Calls `configure` now and after each change of an object. Returns a function that stops it. */
export function followFlowConfig(reader: ObjectReader, configure: (config: FlowConfig) => void): () => void {
  const refresh = (): void =>
    configure(computeFlowConfig(reader.list(priorityLevelConfigurations, ''), reader.list(flowSchemas, '')));
  refresh();
  const ends = [reader.onChange(priorityLevelConfigurations, refresh), reader.onChange(flowSchemas, refresh)];
  return () => {
    for (const end of ends) end();
  };
}

function withStandard<Spec>(
  stored: readonly Named<Spec>[],
  standard: readonly StandardObject<Spec>[],
  { isEmpty, type }: { readonly isEmpty: boolean; readonly type: { readonly plural: string } },
): Named<Spec>[] {
  const names = new Set(stored.map(({ metadata }) => metadata.name));
  const missing = standard.filter(({ name, role }) => !names.has(name) && (isEmpty || role === 'mandatory'));
  return [
    ...stored,
    ...missing.map(({ name, spec }) => ({ metadata: { name, uid: stableUid(`${type.plural}/${name}`) }, spec })),
  ];
}

function distinguisherOf(method: string | undefined): FlowSchema['distinguisher'] {
  if (method === 'ByUser') return 'user';
  return method === 'ByNamespace' ? 'namespace' : 'none';
}

function readLevel({ metadata: { name, uid }, spec }: Named<PriorityLevelConfigurationSpec>): PriorityLevel {
  const { exempt, limited } = spec;
  const shared = limited ?? exempt;
  const borrowingPercent = limited?.borrowingLimitPercent;
  return {
    name,
    uid,
    shares: shared?.nominalConcurrencyShares ?? 0,
    lendablePercent: shared?.lendablePercent ?? 0,
    ...(borrowingPercent !== undefined && { borrowingPercent }),
    limit: spec.type === 'Exempt' ? 'exempt' : limitOf(limited?.limitResponse.queuing),
  };
}

function limitOf(
  queuing: { readonly queues: number; readonly handSize: number; readonly queueLengthLimit: number } | undefined,
): PriorityLevel['limit'] {
  if (queuing === undefined) return 'reject';
  const queues = Math.min(queuing.queues, MOST_QUEUES);
  return { queues, handSize: Math.min(queuing.handSize, queues), queueLength: queuing.queueLengthLimit };
}

/** Returns the UID of an object that is not stored. It is always the same. */
function stableUid(name: string): string {
  const hex = createHash('sha256').update(name).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
