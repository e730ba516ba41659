import type { ApiClient } from '../../../api/client/api-client.ts';
import type { ApiObject, ObjectKey, ResourceType } from '../../../api/client/resource-type.ts';
import { formatKey, parseKey } from '../../../api/client/resource-type.ts';
import { configMaps, csiDrivers, runtimeClasses, secrets, services } from '../../../api/client/resource-types.ts';
import type { ConfigMap } from '../../../api/core/config-map.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Secret } from '../../../api/core/secret.ts';
import type { Service } from '../../../api/core/service.ts';
import type { RuntimeClass } from '../../../api/node/runtime-class.ts';
import type { CSIDriver } from '../../../api/storage/csi-driver.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type {
  ClusterKind,
  ClusterKinds,
  ClusterObjectChange,
  ClusterObjects,
  PodObjects,
} from '../../ports/cluster-objects.ts';
import { Claims, volumeId } from './claims.ts';
import type { KeptObjects } from './kept-objects.ts';
import { KindCache } from './kind-cache.ts';
import type { Known, ObjectStrategy, StrategySink } from './object-strategy.ts';
import type { PodNeeds, WatchedKind } from './object-use.ts';
import { computeNeeds } from './object-use.ts';
import { slimService } from './slim-object.ts';
import { TtlStrategy } from './ttl-strategy.ts';
import { WatchStrategy } from './watch-strategy.ts';

export interface ApiClusterObjectsOptions {
  readonly client: ApiClient;
  /** The field `configMapAndSecretChangeDetectionStrategy`. */
  readonly strategy: 'Watch' | 'Cache' | 'Get';
  readonly kept: KeptObjects;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Upstream's default TTL, which the node object can change. */
const CACHE_TTL_MS = 60_000;
/** The service of the API server. Every pod gets its environment variables. */
const MASTER = 'default/kubernetes';

const idOf = (kind: ClusterKind, { namespace, name }: ObjectKey): string => `${kind}/${namespace}/${name}`;

/**
 * Reads the API objects that pods of this node use, except the pods themselves. Invariants:
 * 1. Secrets and ConfigMaps are followed one by one, and only those that registered pods name.
 * 2. Claims and volumes are read each time.
 * 3. Services, RuntimeClasses and CSIDrivers are followed as whole kinds.
 * 4. What pods use is cached on disk, and read from there while the API server does not answer.
 */
export class ApiClusterObjects implements ClusterObjects, PodObjects {
  readonly #options: ApiClusterObjectsOptions;
  readonly #secrets: ObjectStrategy<Secret>;
  readonly #configMaps: ObjectStrategy<ConfigMap>;
  readonly #claims: Claims;
  readonly #services: KindCache<Service>;
  readonly #runtimeClasses: KindCache<RuntimeClass>;
  readonly #csiDrivers: KindCache<CSIDriver>;
  readonly #pods = new Map<string, { spec: Pod['spec']; generation: number | undefined; needs: PodNeeds }>();
  /** The CSIDrivers that volumes of this node use. */
  readonly #driversAsked = new Set<string>();
  readonly #listeners = new Set<(change: ClusterObjectChange) => void>();

  constructor(options: ApiClusterObjectsOptions) {
    this.#options = options;
    const { client, clock, random, log, kept } = options;
    this.#secrets = this.#strategy('Secret', secrets);
    this.#configMaps = this.#strategy('ConfigMap', configMaps);
    this.#claims = new Claims({ client, clock, random, log, kept, changed: (kind, key) => this.#announce(kind, key) });
    this.#services = this.#follow('Service', services, slimService);
    this.#runtimeClasses = this.#follow('RuntimeClass', runtimeClasses);
    this.#csiDrivers = this.#follow('CSIDriver', csiDrivers);
  }

  start(): void {
    for (const part of this.#parts()) part.start();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#parts().map((part) => part.stop()));
  }

  registerPod(pod: Pod): void {
    const uid = pod.metadata.uid;
    const before = this.#pods.get(uid);
    // This function is called at each sync of the pod.
    if (before?.spec === pod.spec) return;
    const needs = computeNeeds(pod);
    if (
      before !== undefined &&
      before.generation === pod.metadata.generation &&
      JSON.stringify(before.needs) === JSON.stringify(needs)
    ) {
      before.spec = pod.spec;
      return;
    }
    this.#pods.set(uid, { spec: pod.spec, generation: pod.metadata.generation, needs });
    for (const { kind, namespace, name, follows } of needs.objects)
      this.#strategyOf(kind).use({ namespace, name }, uid, follows);
    for (const name of needs.claims) this.#claims.use({ namespace: needs.namespace, name }, uid);
    if (before !== undefined) this.#release(uid, before.needs, needs);
    else this.#keepFor(needs);
  }

  unregisterPod(pod: { readonly metadata: { readonly uid: string } }): void {
    const { uid } = pod.metadata;
    const before = this.#pods.get(uid);
    if (before === undefined) return;
    this.#pods.delete(uid);
    this.#release(uid, before.needs, undefined);
    this.#keepKinds();
  }

  /** Drops objects of an earlier run whose pods are removed. It is called when all pods are known. */
  retain(pods: readonly Pod[]): void {
    const needs = [...[...this.#pods.values()].map((pod) => pod.needs), ...pods.map(computeNeeds)];
    const used = new Set(
      needs.flatMap(({ objects, claims, namespace }) => [
        ...objects.map((use) => idOf(use.kind, use)),
        ...claims.map((name) => idOf('PersistentVolumeClaim', { namespace, name })),
      ]),
    );
    const { kept } = this.#options;
    for (const key of kept.keys())
      if (/^(Secret|ConfigMap|PersistentVolumeClaim)\//.test(key) && !used.has(key)) kept.drop(key);
    // Only a claim names its volume.
    const volumes = new Set(
      kept
        .leftBelow<PersistentVolumeClaim>('PersistentVolumeClaim/')
        .map(({ spec }) => volumeId(spec.volumeName ?? '')),
    );
    for (const key of kept.keys())
      if (
        key.startsWith('PersistentVolume/') &&
        !volumes.has(key) &&
        this.#claims.peekVolume(key.slice(volumeId('').length)) === undefined
      )
        kept.drop(key);
  }

  get<Kind extends ClusterKind>(kind: Kind, namespace: string, name: string): Promise<ClusterKinds[Kind] | undefined> {
    // The kind determines the type, which the compiler cannot infer.
    return this.#get(kind, { namespace, name }) as Promise<ClusterKinds[Kind] | undefined>;
  }

  async list<Kind extends ClusterKind>(kind: Kind, namespace: string): Promise<readonly ClusterKinds[Kind][]> {
    const all = await this.#list(kind);
    return all.filter(
      ({ metadata }) => namespace === '' || metadata.namespace === namespace,
    ) as unknown as readonly ClusterKinds[Kind][];
  }

  onChange(listener: (change: ClusterObjectChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Returns the objects that are known now, without a request. */
  peek<Kind extends ClusterKind>(kind: Kind, namespace: string, name: string): Known<ClusterKinds[Kind]> {
    return this.#peek(kind, { namespace, name }) as Known<ClusterKinds[Kind]>;
  }

  #get(kind: ClusterKind, key: ObjectKey): Promise<ApiObject | undefined> {
    switch (kind) {
      case 'Secret':
        return this.#secrets.get(key);
      case 'ConfigMap':
        return this.#configMaps.get(key);
      case 'PersistentVolumeClaim':
        return this.#claims.claim(key);
      case 'PersistentVolume':
        return this.#claims.volume(key.name);
      case 'Service':
        return this.#services.get(formatKey(key));
      case 'RuntimeClass':
        return this.#runtimeClasses.get(key.name);
      case 'CSIDriver':
        return this.#driver(key.name);
    }
  }

  #list(kind: ClusterKind): Promise<readonly ApiObject[]> {
    switch (kind) {
      case 'Service':
        return this.#services.list();
      case 'RuntimeClass':
        return this.#runtimeClasses.list();
      case 'CSIDriver':
        return this.#csiDrivers.list();
      // A node may not list these kinds (upstream: node authorizer).
      case 'Secret':
      case 'ConfigMap':
      case 'PersistentVolume':
      case 'PersistentVolumeClaim':
        return Promise.resolve([]);
    }
  }

  #peek(kind: ClusterKind, key: ObjectKey): Known<ApiObject> {
    const of = (known: { readonly object: ApiObject | undefined } | undefined): Known<ApiObject> =>
      known === undefined ? { known: false } : { known: true, object: known.object };
    const within = (all: ReadonlyMap<string, ApiObject> | undefined): Known<ApiObject> =>
      of(all === undefined ? undefined : { object: all.get(formatKey(key)) });
    switch (kind) {
      case 'Secret':
        return this.#secrets.peek(key);
      case 'ConfigMap':
        return this.#configMaps.peek(key);
      case 'PersistentVolumeClaim': {
        const seen = this.#claims.peek(key);
        return of(seen === undefined ? undefined : { object: seen.claim });
      }
      case 'PersistentVolume': {
        const object = this.#claims.peekVolume(key.name);
        return of(object === undefined ? undefined : { object });
      }
      case 'Service':
        return within(this.#services.peek());
      case 'RuntimeClass':
        return within(this.#runtimeClasses.peek());
      case 'CSIDriver':
        return within(this.#csiDrivers.peek());
    }
  }

  async #driver(name: string): Promise<CSIDriver | undefined> {
    const found = await this.#csiDrivers.get(name);
    if (!this.#driversAsked.has(name)) {
      this.#driversAsked.add(name);
      if (found !== undefined) this.#options.kept.keep(idOf('CSIDriver', { namespace: '', name }), found);
    }
    return found;
  }

  #parts(): readonly { start(): void; stop(): Promise<void> }[] {
    return [this.#secrets, this.#configMaps, this.#claims, this.#services, this.#runtimeClasses, this.#csiDrivers];
  }

  #strategyOf(kind: WatchedKind): ObjectStrategy<Secret> | ObjectStrategy<ConfigMap> {
    return kind === 'Secret' ? this.#secrets : this.#configMaps;
  }

  #strategy<T extends ApiObject>(kind: WatchedKind, type: ResourceType<T>): ObjectStrategy<T> {
    const { client, clock, random, log, kept, strategy } = this.#options;
    const sink: StrategySink<T> = {
      seen: (key, object) => {
        if (object === undefined) kept.drop(idOf(kind, key));
        else kept.keep(idOf(kind, key), object);
      },
      changed: (key) => this.#announce(kind, key),
      kept: (key) => kept.left<T>(idOf(kind, key)),
    };
    const common = { client, type, clock, random, log, sink };
    return strategy === 'Watch'
      ? new WatchStrategy(common)
      : new TtlStrategy({ ...common, ttlMs: strategy === 'Cache' ? CACHE_TTL_MS : 0 });
  }

  #follow<T extends ApiObject>(kind: ClusterKind, type: ResourceType<T>, slim?: (object: T) => T): KindCache<T> {
    const { client, clock, random, log, kept } = this.#options;
    return new KindCache<T>({
      client,
      type,
      clock,
      random,
      log,
      ...(slim !== undefined && { slim }),
      left: () => kept.leftBelow<T>(`${kind}/`),
      changed: (key, object) => {
        const at = parseKey(key);
        const id = idOf(kind, at);
        if (object === undefined) kept.drop(id);
        else if (this.#isUsed(kind, at, this.#used())) kept.keep(id, object);
        this.#announce(kind, at);
      },
      synced: (misled) => {
        this.#keepKinds();
        if (misled) this.#notifyAfterSync(kind);
      },
    });
  }

  /** Notifies readers that received no object, or a cached one, although a newer object exists. */
  #notifyAfterSync(kind: ClusterKind): void {
    if (kind === 'RuntimeClass')
      for (const name of this.#used().runtimeClasses) this.#announce(kind, { namespace: '', name });
    if (kind === 'CSIDriver') for (const name of this.#driversAsked) this.#announce(kind, { namespace: '', name });
    if (kind === 'Service') this.#announce(kind, parseKey(MASTER));
  }

  #isUsed(
    kind: ClusterKind,
    { namespace, name }: ObjectKey,
    used: { readonly namespaces: ReadonlySet<string>; readonly runtimeClasses: ReadonlySet<string> },
  ): boolean {
    if (kind === 'CSIDriver') return this.#driversAsked.has(name);
    if (kind === 'RuntimeClass') return used.runtimeClasses.has(name);
    return used.namespaces.has(namespace) || `${namespace}/${name}` === MASTER;
  }

  #used(): { readonly namespaces: ReadonlySet<string>; readonly runtimeClasses: ReadonlySet<string> } {
    const all = [...this.#pods.values()].map(({ needs }) => needs);
    return {
      namespaces: new Set(all.map(({ namespace }) => namespace)),
      runtimeClasses: new Set(all.map(({ runtimeClass }) => runtimeClass).filter((name) => name !== '')),
    };
  }

  /** Keeps what a new pod uses in the cache on disk. */
  #keepFor({ namespace, runtimeClass }: PodNeeds): void {
    const { kept } = this.#options;
    const found = this.#runtimeClasses.peek()?.get(runtimeClass);
    if (found !== undefined) kept.keep(idOf('RuntimeClass', { namespace: '', name: runtimeClass }), found);
    if ([...this.#pods.values()].filter(({ needs }) => needs.namespace === namespace).length > 1) return;
    for (const service of this.#services.peek()?.values() ?? [])
      if (service.metadata.namespace === namespace) kept.keep(idOf('Service', service.metadata), service);
  }

  /** Updates the cache on disk for the kinds that are followed as a whole, to what pods use now. */
  #keepKinds(): void {
    const { kept } = this.#options;
    const used = this.#used();
    const caches: readonly (readonly [ClusterKind, ReadonlyMap<string, ApiObject> | undefined])[] = [
      ['Service', this.#services.peek()],
      ['RuntimeClass', this.#runtimeClasses.peek()],
      ['CSIDriver', this.#csiDrivers.peek()],
    ];
    for (const [kind, objects] of caches) {
      if (objects === undefined) continue;
      const wanted = new Set<string>();
      for (const [key, object] of objects) {
        if (!this.#isUsed(kind, parseKey(key), used)) continue;
        const id = idOf(kind, parseKey(key));
        wanted.add(id);
        kept.keep(id, object);
      }
      for (const id of kept.keys()) if (id.startsWith(`${kind}/`) && !wanted.has(id)) kept.drop(id);
    }
  }

  #release(uid: string, before: PodNeeds, now: PodNeeds | undefined): void {
    for (const { kind, namespace, name } of before.objects) {
      if (now?.objects.some((use) => use.kind === kind && use.name === name) === true) continue;
      if (this.#strategyOf(kind).release({ namespace, name }, uid))
        this.#options.kept.drop(idOf(kind, { namespace, name }));
    }
    for (const name of before.claims)
      if (now?.claims.includes(name) !== true) this.#claims.release({ namespace: before.namespace, name }, uid);
  }

  #announce(kind: ClusterKind, { namespace, name }: ObjectKey): void {
    for (const listener of [...this.#listeners]) listener({ kind, namespace, name });
  }
}
