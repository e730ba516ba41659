import type { ApiClient } from '../../api/client/api-client.ts';
import { apiServices } from '../../api/client/resource-types.ts';
import { isApiError } from '../../api/status/api-status-error.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { RateLimitingQueue } from '../controller-runtime/rate-limiting-queue.ts';
import type { Definitions } from '../model/definitions.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import { AUTO_MANAGED_LABEL, localServices, planService, withServices } from './local-services.ts';
import type { LocalService } from './local-services.ts';

export interface LocalServicesOptions {
  readonly reader: ObjectReader;
  readonly client: ApiClient;
  readonly definitions: Definitions;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Maintains the APIServices of the APIs served here, including custom kinds. */
export function createLocalServicesKeeper(options: LocalServicesOptions): { start(): void; stop(): Promise<void> } {
  const { reader, definitions, clock, log } = options;
  let known: ReturnType<typeof localServices> | undefined;
  const wanted = (): ReturnType<typeof localServices> => (known ??= localServices(definitions.all));
  /** Names that this process has already checked. */
  const seen = new Set<string>();
  const sync = async (name: string): Promise<void> => {
    await keep(options, { name, desired: wanted().get(name), atStart: !seen.has(name) });
    seen.add(name);
  };
  const queue = new RateLimitingQueue({ name: 'local-api-services', clock, log, workers: 1, sync });
  const ends: (() => void)[] = [];
  return {
    start: () => {
      ends.push(
        definitions.onChange(({ removed, added }) => {
          // While custom kinds are only added, as in an installation of many, nothing is computed again.
          if (removed.length > 0) known = undefined;
          else if (known !== undefined) known = withServices(known, added);
          for (const { type } of [...removed, ...added]) queue.add(`${type.version}.${type.group}`);
        }),
        reader.onChange(apiServices, (before, after) => queue.add((after ?? before)?.metadata.name ?? '')),
      );
      for (const { metadata } of reader.list(apiServices, '')) queue.add(metadata.name);
      for (const name of wanted().keys()) queue.add(name);
      queue.start();
    },
    stop: async () => {
      for (const end of ends.splice(0)) end();
      await queue.stop();
    },
  };
}

async function keep(
  { reader, client }: LocalServicesOptions,
  {
    name,
    desired,
    atStart,
  }: { readonly name: string; readonly desired: LocalService | undefined; readonly atStart: boolean },
): Promise<void> {
  const key = { namespace: '', name };
  const current = reader.get(apiServices, key);
  const step = planService(desired, current, atStart);
  try {
    if (step === 'delete') await client.delete(apiServices, key);
    if (desired === undefined) return;
    const labels = { ...current?.metadata.labels, [AUTO_MANAGED_LABEL]: labelOf(desired) };
    if (step === 'create')
      await client.create(apiServices, { metadata: { name, namespace: '', uid: '', labels }, spec: desired.spec });
    if (step === 'update' && current !== undefined)
      await client.update(apiServices, { ...current, metadata: { ...current.metadata, labels }, spec: desired.spec });
  } catch (error) {
    // Another client wrote first. The event of its write triggers the next pass.
    if (!isApiError(error, 'NotFound', 'AlreadyExists')) throw error;
  }
}

const labelOf = ({ management }: LocalService): string => (management === 'absent' ? 'onstart' : management);
