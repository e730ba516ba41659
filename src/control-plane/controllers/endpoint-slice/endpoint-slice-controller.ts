import { isDeepStrictEqual } from 'node:util';
import { endpointLabels, nodeLabels } from '../../../api/annotations.ts';
import type { Informer } from '../../../api/client/informer.ts';
import type { ObjectIndex } from '../../../api/client/object-store.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { endpointSlices, nodes, pods, services } from '../../../api/client/resource-types.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Service } from '../../../api/core/service.ts';
import type { EndpointSlice } from '../../../api/discovery/endpoint-slice.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { EventRecorder } from '../../controller-runtime/event-recorder.ts';
import { newEndpointSlice } from '../../controller-runtime/new-endpoint-slice.ts';
import { isNamespaceTerminating } from '../../controller-runtime/namespace-terminating.ts';
import { createQueueController } from '../../controller-runtime/queue-controller.ts';
import {
  endpointsOf,
  hasManagedEndpoints,
  isHeadless,
  wakeServices,
} from '../../controller-runtime/service-endpoints.ts';
import { createServiceTally } from '../../controller-runtime/service-tally.ts';
import { foldOfSet } from '../../controller-runtime/rest-of-set.ts';
import { TriggerTimes, withTriggerTime } from '../../controller-runtime/trigger-times.ts';
import type { TriggerScope } from '../../controller-runtime/trigger-times.ts';
import { groupEndpoints } from './group-endpoints.ts';
import type { Group } from './plan-slices.ts';
import { planChanges, PublishedSlices } from './published-slices.ts';
import type { PublishParts, PublishPlan } from './published-slices.ts';
import { ServiceMembers } from './service-members.ts';
import type { ServiceTally } from './service-members.ts';
import { isTopologyModeAuto, TopologyMode } from './topology-mode.ts';
import { changesZoneShares, computeZoneShares } from './zone-shares.ts';
import type { ZoneShares } from './zone-shares.ts';

const WORKERS = 5;
/**
 * The wait for a created slice. Its event wakes the service; the timeout covers a slice that was deleted before its
 * event.
 */
const AWAITED_MS = 1000;
const CONTROLLER_NAME = 'endpointslice-controller.k8s.io';
const AUTO = 'Auto';
const { headless } = endpointLabels;

/** Publishes the pods of each service, in slices of a hundred (upstream: endpointslice controller). */
export function createEndpointSliceController(options: ControllerOptions): Controller {
  const { informers } = options;
  const parts = {
    services: informers.for(services),
    pods: informers.for(pods),
    slices: informers.for(endpointSlices),
    nodes: informers.for(nodes),
  };
  const tally = createServiceTally<Pod, ServiceMembers>(
    parts.services,
    parts.pods,
    (service) => new ServiceMembers(service),
  );
  const syncer = new SliceSyncer(options, { ...parts, tally });
  return createQueueController(options, {
    name: 'endpoint-slice',
    workers: WORKERS,
    syncer,
    informers: [parts.services, parts.pods, parts.slices, parts.nodes],
    follow: (add) => {
      const follow = (before: EndpointSlice | undefined, after: EndpointSlice | undefined): void =>
        syncer.follow(before, after).forEach(add);
      return [
        wakeServices({ ...parts, add }),
        parts.slices.addHandlers({
          onAdd: (slice) => follow(undefined, slice),
          onUpdate: follow,
          onDelete: (slice) => follow(slice, undefined),
        }),
        syncer.followNodes(add),
        () => tally.stop(),
      ];
    },
  });
}

interface Parts {
  readonly services: Informer<Service>;
  readonly pods: Informer<Pod>;
  readonly slices: Informer<EndpointSlice>;
  readonly nodes: Informer<Node>;
  readonly tally: ServiceTally;
}

class SliceSyncer {
  readonly #options: ControllerOptions;
  readonly #parts: Parts;
  /** The published slices by service key. */
  readonly #published = new Map<string, PublishedSlices>();
  readonly #topologyServices: ObjectIndex<Service>;
  readonly #topology = new TopologyMode();
  readonly #triggerTimes = new TriggerTimes();
  readonly #recorder: EventRecorder;
  /** The zone shares. They are absent until a service needs them after a change of nodes. */
  #shares: { readonly value: ZoneShares | undefined } | undefined;
  /** Created slices that the watch has not shown yet; planning without them would create them twice. */
  readonly #awaited = new Map<string, { readonly key: string; readonly sinceMs: number }>();

  constructor(options: ControllerOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    this.#topologyServices = parts.services.index('topology-mode', (service) =>
      isTopologyModeAuto(service) ? [AUTO] : [],
    );
    this.#recorder = createEventRecorder({ ...options, component: 'endpoint-slice-controller' });
  }

  /**
   * Follows nodes: endpoints have the zone of their node, and hints of topology mode Auto depend on the zones and CPUs
   * of all nodes. Returns the function that unsubscribes.
   */
  followNodes(add: (key: string) => void): () => void {
    const requireFullPasses = (): void => this.#published.forEach((published) => published.requireFullPass());
    const wake = (): void => {
      this.#shares = undefined;
      for (const service of this.#topologyServices.get(AUTO)) add(formatKey(keyOf(service)));
    };
    return this.#parts.nodes.addHandlers({
      onAdd: () => {
        requireFullPasses();
        wake();
      },
      onUpdate: (before, after) => {
        if (before.metadata.labels?.[nodeLabels.zone] !== after.metadata.labels?.[nodeLabels.zone]) requireFullPasses();
        if (changesZoneShares(before, after)) wake();
      },
      onDelete: wake,
    });
  }

  #zoneShares(): ZoneShares | undefined {
    this.#shares ??= { value: computeZoneShares(this.#parts.nodes.list()) };
    return this.#shares.value;
  }

  /**
   * Returns the pause between passes. Pod events in this time are merged into one pass, so that a slice is not written
   * for each of its pods.
   */
  restMs(key: string): number {
    const service = this.#parts.services.getByKey(key);
    return service === undefined ? 0 : foldOfSet(this.#parts.tally.of(service, 0).size);
  }

  /** Records a change of a slice. Returns the keys of its services. */
  follow(before: EndpointSlice | undefined, after: EndpointSlice | undefined): string[] {
    for (const slice of [before, after]) if (slice !== undefined) this.#awaited.delete(slice.metadata.uid);
    const [left, stays] = [serviceKeyOf(before), serviceKeyOf(after)];
    if (before !== undefined && left !== undefined && left !== stays) this.#slicesOf(left).remove(before.metadata.name);
    if (after !== undefined && stays !== undefined) {
      if (after.metadata.deletionTimestamp === undefined) this.#slicesOf(stays).put(after);
      else this.#slicesOf(stays).remove(after.metadata.name);
    }
    return [...new Set([left, stays])].filter((key) => key !== undefined);
  }

  #slicesOf(key: string): PublishedSlices {
    let published = this.#published.get(key);
    if (published === undefined) this.#published.set(key, (published = new PublishedSlices()));
    return published;
  }

  #isAwaiting(key: string): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [uid, awaited] of this.#awaited) if (nowMs - awaited.sinceMs > AWAITED_MS) this.#awaited.delete(uid);
    return [...this.#awaited.values()].some((awaited) => awaited.key === key);
  }

  async sync(key: string): Promise<number | undefined> {
    if (this.#isAwaiting(key)) return AWAITED_MS;
    const service = this.#parts.services.getByKey(key);
    // The garbage collector deletes the slices of a deleted service.
    if (service === undefined || service.metadata.deletionTimestamp !== undefined || !hasManagedEndpoints(service)) {
      this.#topology.forget(key);
      this.#triggerTimes.forget(key);
      this.#slicesOf(key).requireFullPass();
      if (service === undefined && this.#slicesOf(key).all.length === 0) this.#published.delete(key);
      return undefined;
    }
    const published = this.#slicesOf(key);
    try {
      const changed = this.#parts.tally.of(service, 0).takeChanged();
      const trigger = this.#triggerTimes.take(key, service, this.#triggerScope(service, changed));
      await this.#publish(key, service, { ...this.#plan(key, service, { published, changed }), trigger });
    } catch (error) {
      published.requireFullPass();
      if (!isNamespaceTerminating(error) && !isApiError(error, 'NotFound')) throw error;
    }
    return undefined;
  }

  #triggerScope(service: Service, changed: ReadonlySet<string> | undefined): TriggerScope {
    const members = this.#parts.tally.of(service, 0);
    return changed === undefined ? { pods: members.all } : { pods: members.among(changed), uids: changed };
  }

  /** Plans the slices. Hints of topology mode Auto depend on all endpoints of the service. */
  #plan(
    key: string,
    service: Service,
    { published, changed }: Pick<PublishParts, 'published' | 'changed'>,
  ): PublishPlan {
    const members = this.#parts.tally.of(service, 0);
    const nodeOf = (name: string): Node | undefined => this.#parts.nodes.get({ namespace: '', name });
    if (isTopologyModeAuto(service)) published.requireFullPass();
    return planChanges({
      published,
      changed,
      groupsOf: (identities) => {
        const selected = identities === undefined ? members.all : members.among(identities);
        const groups = groupEndpoints(service, endpointsOf(service, selected), nodeOf);
        return identities === undefined ? this.#withTopology(key, service, groups, published.all) : groups;
      },
    });
  }

  #withTopology(
    key: string,
    service: Service,
    groups: readonly Group[],
    existing: readonly EndpointSlice[],
  ): readonly Group[] {
    const applied = this.#topology.apply(key, { service, groups, existing, shares: () => this.#zoneShares() });
    for (const event of applied.events) this.#recorder.event(services, service, event);
    return applied.groups;
  }

  async #publish(
    key: string,
    service: Service,
    { plan, slices, trigger }: PublishPlan & { readonly trigger: string | undefined },
  ): Promise<void> {
    const labels = labelsOf(service);
    const stale = slices.filter(
      (slice) =>
        !isDeepStrictEqual(slice.metadata.labels, labels) &&
        !plan.delete.includes(slice) &&
        !plan.update.some((each) => each.slice === slice),
    );
    const { client } = this.#options;
    const annotations = withTriggerTime({}, trigger);
    for (const content of plan.create) {
      const wanted = newEndpointSlice(services, service, { labels, annotations, ...content });
      const made = await client.create(endpointSlices, wanted);
      if (this.#parts.slices.get(keyOf(made)) === undefined)
        this.#awaited.set(made.metadata.uid, { key, sinceMs: this.#options.clock.monotonicMs() });
    }
    for (const { slice, endpoints: desired } of [
      ...plan.update,
      ...stale.map((slice) => ({ slice, endpoints: slice.endpoints })),
    ]) {
      await client.update(endpointSlices, {
        ...slice,
        metadata: { ...slice.metadata, labels, annotations: withTriggerTime(slice.metadata.annotations, trigger) },
        endpoints: [...desired],
      });
    }
    for (const slice of plan.delete)
      await client.delete(endpointSlices, keyOf(slice), { preconditions: { uid: slice.metadata.uid } });
  }
}

/** Returns the service of a slice, or undefined for a slice of another controller. */
function serviceKeyOf(slice: EndpointSlice | undefined): string | undefined {
  const { namespace, labels } = slice?.metadata ?? {};
  const name = labels?.[endpointLabels.serviceName];
  return labels?.[endpointLabels.slicesManagedBy] === CONTROLLER_NAME && name !== undefined
    ? `${namespace}/${name}`
    : undefined;
}

function labelsOf(service: Service): Record<string, string> {
  return {
    ...service.metadata.labels,
    [endpointLabels.serviceName]: service.metadata.name,
    [endpointLabels.slicesManagedBy]: CONTROLLER_NAME,
    ...(isHeadless(service) && { [headless]: '' }),
  };
}
