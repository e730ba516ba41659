import { isDeepStrictEqual } from 'node:util';
import { endpointLabels } from '../../../api/annotations.ts';
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
  serviceSelector,
  wakeServices,
} from '../../controller-runtime/service-endpoints.ts';
import { LabelIndex } from '../../controller-runtime/label-index.ts';
import { restOfSet } from '../../controller-runtime/rest-of-set.ts';
import { groupEndpoints } from './group-endpoints.ts';
import { planSlices } from './plan-slices.ts';
import { isTopologyModeAuto, TopologyMode } from './topology-mode.ts';
import { changesZoneShares, computeZoneShares } from './zone-shares.ts';
import type { ZoneShares } from './zone-shares.ts';

const WORKERS = 5;
/** Its event wakes the service; this timeout covers a slice that was deleted before its event. */
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
  const syncer = new SliceSyncer(options, parts);
  return createQueueController(options, {
    name: 'endpoint-slice',
    workers: WORKERS,
    syncer,
    informers: Object.values(parts),
    follow: (add) => {
      const wake = (slice: EndpointSlice): void => {
        syncer.seen(slice);
        const name = slice.metadata.labels?.[endpointLabels.serviceName];
        if (slice.metadata.labels?.[endpointLabels.slicesManagedBy] === CONTROLLER_NAME && name !== undefined)
          add(`${slice.metadata.namespace}/${name}`);
      };
      return [
        wakeServices({ ...parts, add }),
        parts.slices.addHandlers({ onAdd: wake, onUpdate: (_, slice) => wake(slice), onDelete: wake }),
        syncer.followNodes(add),
      ];
    },
  });
}

interface Parts {
  readonly services: Informer<Service>;
  readonly pods: Informer<Pod>;
  readonly slices: Informer<EndpointSlice>;
  readonly nodes: Informer<Node>;
}

class SliceSyncer {
  readonly #options: ControllerOptions;
  readonly #parts: Parts;
  readonly #pods: LabelIndex<Pod>;
  readonly #byService: ObjectIndex<EndpointSlice>;
  readonly #withTopology: ObjectIndex<Service>;
  readonly #topology = new TopologyMode();
  readonly #recorder: EventRecorder;
  /** Absent until a service asks for it after a change of nodes. */
  #shares: { readonly value: ZoneShares | undefined } | undefined;
  /** Created slices that the watch has not shown yet; planning without them would create them twice. */
  readonly #awaited = new Map<string, { readonly key: string; readonly sinceMs: number }>();

  constructor(options: ControllerOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    this.#pods = new LabelIndex(parts.pods);
    this.#byService = parts.slices.index('service', ({ metadata }) =>
      metadata.labels?.[endpointLabels.slicesManagedBy] === CONTROLLER_NAME
        ? [`${metadata.namespace}/${metadata.labels[endpointLabels.serviceName] ?? ''}`]
        : [],
    );
    this.#withTopology = parts.services.index('topology-mode', (service) =>
      isTopologyModeAuto(service) ? [AUTO] : [],
    );
    this.#recorder = createEventRecorder({ ...options, component: 'endpoint-slice-controller' });
  }

  /** Hints of topology mode Auto depend on the zones and CPUs of all nodes. Returns the function that unsubscribes. */
  followNodes(add: (key: string) => void): () => void {
    const wake = (): void => {
      this.#shares = undefined;
      for (const service of this.#withTopology.get(AUTO)) add(formatKey(keyOf(service)));
    };
    return this.#parts.nodes.addHandlers({
      onAdd: wake,
      onUpdate: (before, after) => {
        if (changesZoneShares(before, after)) wake();
      },
      onDelete: wake,
    });
  }

  #zoneShares(): ZoneShares | undefined {
    this.#shares ??= { value: computeZoneShares(this.#parts.nodes.list()) };
    return this.#shares.value;
  }

  /** A pass reads every pod of the service; pod events meanwhile are merged into one pass. */
  restMs(key: string): number {
    const service = this.#parts.services.getByKey(key);
    return service === undefined
      ? 0
      : restOfSet(this.#pods.countAtMost(service.metadata.namespace, serviceSelector(service)));
  }

  seen({ metadata }: EndpointSlice): void {
    this.#awaited.delete(metadata.uid);
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
      return undefined;
    }
    const endpoints = endpointsOf(service, this.#pods.select(service.metadata.namespace, serviceSelector(service)));
    const existing = this.#byService.get(key).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const { groups, events } = this.#topology.apply(key, {
      service,
      groups: groupEndpoints(service, endpoints, (name) => this.#parts.nodes.get({ namespace: '', name })),
      existing,
      shares: () => this.#zoneShares(),
    });
    for (const event of events) this.#recorder.event(services, service, event);
    const plan = planSlices(existing, groups);
    const labels = labelsOf(service);
    const stale = existing.filter(
      (slice) =>
        !isDeepStrictEqual(slice.metadata.labels, labels) &&
        !plan.delete.includes(slice) &&
        !plan.update.some((each) => each.slice === slice),
    );
    const { client } = this.#options;
    try {
      for (const content of plan.create) {
        const made = await client.create(endpointSlices, newEndpointSlice(services, service, { labels, ...content }));
        if (this.#parts.slices.get(keyOf(made)) === undefined)
          this.#awaited.set(made.metadata.uid, { key, sinceMs: this.#options.clock.monotonicMs() });
      }
      for (const { slice, endpoints: desired } of [
        ...plan.update,
        ...stale.map((slice) => ({ slice, endpoints: slice.endpoints })),
      ]) {
        await client.update(endpointSlices, {
          ...slice,
          metadata: { ...slice.metadata, labels },
          endpoints: [...desired],
        });
      }
      for (const slice of plan.delete)
        await client.delete(endpointSlices, keyOf(slice), { preconditions: { uid: slice.metadata.uid } });
    } catch (error) {
      if (!isNamespaceTerminating(error) && !isApiError(error, 'NotFound')) throw error;
    }
    return undefined;
  }
}

function labelsOf(service: Service): Record<string, string> {
  return {
    ...service.metadata.labels,
    [endpointLabels.serviceName]: service.metadata.name,
    [endpointLabels.slicesManagedBy]: CONTROLLER_NAME,
    ...(isHeadless(service) && { [headless]: '' }),
  };
}
