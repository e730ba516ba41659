import type { ApiClient } from '../../../api/client/api-client.ts';
import { createInformer } from '../../../api/client/informer.ts';
import type { OwnInformer } from '../../../api/client/informer.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import { inBackground } from '../../../base/background.ts';
import type { ControllerOptions } from '../../controller-runtime/controller.ts';
import type { CollectableKind, OtherApis } from '../../controller-runtime/other-apis.ts';
import { resourceKey } from './graph-keys.ts';

/** The maximum number of kinds. Each has a connection for its watch. */
const MOST_KINDS = 200;
/** How long deletions that depend on all dependents wait for new kinds (upstream: initialSyncTimeout). */
const SETTLED_MS = 30_000;

export interface OtherKindsFollower {
  start(): void;
  stop(): Promise<void>;
  /** The client for a kind of another server; undefined for kinds of this server. */
  clientOf(type: ResourceType): ApiClient | undefined;
  /** Whether the objects of all kinds are known, or their servers had enough time to answer. */
  isSettled(): boolean;
}

export interface OtherKindsParts {
  /** Whether this server has a kind of this name. */
  readonly isTaken: (type: Pick<ResourceType, 'group' | 'plural'>) => boolean;
  /** Called with each informer before it starts; the result is called when the kind is removed. */
  readonly join: (informer: OwnInformer<ApiObject>) => () => void;
}

interface Followed {
  readonly client: ApiClient;
  readonly informer: OwnInformer<ApiObject>;
  readonly leave: () => void;
}

/**
 * Runs an informer for each kind of other servers whose objects can be collected. A server that is unavailable keeps
 * its kinds: the last known objects stay known.
 */
export function followOtherKinds(
  options: Omit<ControllerOptions, 'informers'>,
  apis: OtherApis,
  { isTaken, join }: OtherKindsParts,
): OtherKindsFollower {
  const { clock, log } = options;
  const followed = new Map<string, Followed>();
  const stops = new Set<Promise<void>>();
  let unsettledAtMs = -Infinity;
  let missing: readonly string[] = [];
  let end: (() => void) | undefined;
  const drop = (name: string, { informer, leave }: Followed): void => {
    followed.delete(name);
    leave();
    const stopped: Promise<void> = informer.stop().finally(() => stops.delete(stopped));
    stops.add(stopped);
    inBackground(log, `stop to follow ${name}`, stopped);
  };
  const follow = (name: string, kind: CollectableKind): void => {
    const { group, version, plural, namespaced } = kind;
    const type: ResourceType = { group, version, plural, namespaced, kind: kind.kind };
    const client = apis.clientFor(kind);
    const informer = createInformer<ApiObject>({ ...options, client, type, namespace: '' });
    followed.set(name, { client, informer, leave: join(informer) });
    unsettledAtMs = clock.monotonicMs();
    informer.start();
  };
  const update = (): void => {
    const wanted = selectKinds(apis.collectable(), (type) => isTaken(type) && !followed.has(resourceKey(type)));
    for (const [name, each] of [...followed]) {
      const kind = wanted.get(name);
      if (kind === undefined || !isSameKind(kind, each.informer.type)) drop(name, each);
    }
    for (const [name, kind] of wanted) if (!followed.has(name)) follow(name, kind);
    const unknown = apis.undiscovered();
    if (unknown.some((each) => !missing.includes(each))) unsettledAtMs = clock.monotonicMs();
    missing = unknown;
  };
  return {
    start: () => {
      if (end !== undefined) return;
      end = apis.onChange(update);
      update();
    },
    stop: async () => {
      end?.();
      for (const [name, each] of [...followed]) drop(name, each);
      await Promise.all(stops);
    },
    clientOf: (type) => followed.get(resourceKey(type))?.client,
    isSettled: () =>
      (missing.length === 0 && [...followed.values()].every(({ informer }) => informer.hasSynced())) ||
      clock.monotonicMs() - unsettledAtMs >= SETTLED_MS,
  };
}

function selectKinds(
  kinds: readonly CollectableKind[],
  isTaken: (type: CollectableKind) => boolean,
): ReadonlyMap<string, CollectableKind> {
  const free = kinds.filter((each) => !isTaken(each)).slice(0, MOST_KINDS);
  return new Map(free.map((each) => [resourceKey(each), each]));
}

const isSameKind = (one: CollectableKind, other: ResourceType): boolean =>
  one.version === other.version && one.kind === other.kind && one.namespaced === other.namespaced;
