import { isDeepStrictEqual } from 'node:util';
import { endpointLabels } from '../../../api/annotations.ts';
import type { Informer } from '../../../api/client/informer.ts';
import { formatKey, keyOf, parseKey } from '../../../api/client/resource-type.ts';
import { endpoints, pods, services } from '../../../api/client/resource-types.ts';
import type { Endpoints, EndpointSubset } from '../../../api/core/endpoints.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Service } from '../../../api/core/service.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { isNamespaceTerminating } from '../../controller-runtime/namespace-terminating.ts';
import { createQueueController } from '../../controller-runtime/queue-controller.ts';
import type { MemberTally } from '../../controller-runtime/member-tally.ts';
import { foldOfSet } from '../../controller-runtime/rest-of-set.ts';
import { hasManagedEndpoints, isHeadless, wakeServices } from '../../controller-runtime/service-endpoints.ts';
import { createServiceTally } from '../../controller-runtime/service-tally.ts';
import { TriggerTimes, withTriggerTime } from '../../controller-runtime/trigger-times.ts';
import { truncateSubsets } from './address-groups.ts';
import { ListedPods } from './listed-pods.ts';
import type { ListedPod } from './listed-pods.ts';

const WORKERS = 5;
const { headless, endpointsManagedBy } = endpointLabels;
const OWN = 'endpoint-controller';
const OVER_CAPACITY = 'endpoints.kubernetes.io/over-capacity';
/** The annotation of Endpoints that a leader election uses without a service. */
const LEADER = 'control-plane.alpha.kubernetes.io/leader';

/**
 * Maintains Endpoints, the older form of EndpointSlices, for clients that still read them (upstream: endpoints
 * controller).
 */
export function createEndpointsController(options: ControllerOptions): Controller {
  const { informers } = options;
  const followed = {
    services: informers.for(services),
    pods: informers.for(pods),
    endpoints: informers.for(endpoints),
  };
  const tally = createServiceTally<ListedPod, ListedPods>(
    followed.services,
    followed.pods,
    (service) => new ListedPods(service),
  );
  const parts = { ...followed, tally };
  const syncer = new EndpointsSyncer(options, parts);
  return createQueueController(options, {
    name: 'endpoints',
    workers: WORKERS,
    syncer,
    informers: Object.values(followed),
    follow: (add) => {
      const wake = (object: Endpoints): void => add(formatKey(keyOf(object)));
      return [
        wakeServices({ ...parts, add }),
        parts.endpoints.addHandlers({
          // Our own creation may be observed only after the deletion of its service.
          onAdd: (object, initial) => (initial || isOwn(object)) && wake(object),
          onDelete: wake,
        }),
        () => tally.stop(),
      ];
    },
  });
}

interface Parts {
  readonly services: Informer<Service>;
  readonly endpoints: Informer<Endpoints>;
  readonly tally: MemberTally<Service, Pod, ListedPod, ListedPods>;
}

class EndpointsSyncer {
  readonly #options: ControllerOptions;
  readonly #parts: Parts;
  readonly #triggerTimes = new TriggerTimes();

  constructor(options: ControllerOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
  }

  /**
   * Returns the pause between passes. Pod events in this time are merged into one pass, so that the object, with up to
   * 1000 addresses, is not written for each of its pods.
   */
  restMs(key: string): number {
    const service = this.#parts.services.getByKey(key);
    return service === undefined ? 0 : foldOfSet(this.#parts.tally.of(service, 0).size);
  }

  async sync(key: string): Promise<void> {
    const service = this.#parts.services.getByKey(key);
    const current = this.#parts.endpoints.getByKey(key);
    if (service === undefined || !hasManagedEndpoints(service)) this.#triggerTimes.forget(key);
    if (service === undefined) return this.#removeLeftover(key, current);
    if (!hasManagedEndpoints(service)) return;
    const listed = this.#parts.tally.of(service, 0);
    const trigger = this.#triggerTimes.take(key, service, listed.takeChanged());
    const wanted = desired(service, current, listed.subsets);
    if (current !== undefined && same(current, wanted)) return;
    const triggered = withAnnotations(wanted, withTriggerTime(wanted.metadata.annotations, trigger));
    try {
      if (current === undefined) await this.#options.client.create(endpoints, triggered);
      else await this.#options.client.update(endpoints, triggered);
    } catch (error) {
      if (!isNamespaceTerminating(error)) throw error;
    }
  }

  async #removeLeftover(key: string, current: Endpoints | undefined): Promise<void> {
    if (current === undefined || current.metadata.annotations?.[LEADER] !== undefined) return;
    try {
      await this.#options.client.delete(endpoints, parseKey(key), { preconditions: { uid: current.metadata.uid } });
    } catch (error) {
      if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
    }
  }
}

function desired(service: Service, current: Endpoints | undefined, all: readonly EndpointSubset[]): Endpoints {
  const { subsets, truncated } = truncateSubsets(all);
  const { [headless]: _, ...labels } = service.metadata.labels ?? {};
  const before: Endpoints['metadata'] = current?.metadata ?? {
    name: service.metadata.name,
    namespace: service.metadata.namespace,
    uid: '',
  };
  const { annotations: { [OVER_CAPACITY]: __, ...annotations } = {}, ...metadata } = before;
  return {
    metadata: {
      ...metadata,
      labels: {
        ...labels,
        ...(isHeadless(service) && { [headless]: '' }),
        [endpointsManagedBy]: OWN,
      },
      ...((truncated || Object.keys(annotations).length > 0) && {
        annotations: { ...annotations, ...(truncated && { [OVER_CAPACITY]: 'truncated' }) },
      }),
    },
    ...(subsets.length > 0 && { subsets }),
  };
}

const isOwn = ({ metadata }: Endpoints): boolean => metadata.labels?.[endpointsManagedBy] === OWN;

function withAnnotations(object: Endpoints, annotations: Record<string, string>): Endpoints {
  const { annotations: _, ...metadata } = object.metadata;
  const isEmpty = Object.keys(annotations).length === 0;
  return { ...object, metadata: { ...metadata, ...(!isEmpty && { annotations }) } };
}

function same(current: Endpoints, wanted: Endpoints): boolean {
  return isDeepStrictEqual(
    [current.subsets ?? [], current.metadata.labels, current.metadata.annotations ?? {}],
    [wanted.subsets ?? [], wanted.metadata.labels, wanted.metadata.annotations ?? {}],
  );
}
