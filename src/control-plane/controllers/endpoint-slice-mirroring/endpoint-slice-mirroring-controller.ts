import { endpointLabels } from '../../../api/annotations.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { endpointSlices, endpoints, services } from '../../../api/client/resource-types.ts';
import type { EndpointSlice } from '../../../api/discovery/endpoint-slice.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { Expectations } from '../../controller-runtime/expectations.ts';
import { newEndpointSlice } from '../../controller-runtime/new-endpoint-slice.ts';
import { isNamespaceTerminating } from '../../controller-runtime/namespace-terminating.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { computeMirrors, isMirrored, MIRRORING_CONTROLLER, planMirrors } from './plan-mirrors.ts';
import type { Mirror } from './plan-mirrors.ts';

const WORKERS = 5;

/** Mirrors manually managed Endpoints to EndpointSlices (upstream: endpointslicemirroring controller). */
export function createEndpointSliceMirroringController({
  client,
  informers,
  clock,
  log,
}: ControllerOptions): Controller {
  const parts = {
    endpoints: informers.for(endpoints),
    services: informers.for(services),
    slices: informers.for(endpointSlices),
  };
  const expectations = new Expectations(clock);
  const byService = parts.slices.index('mirrored-service', (slice) => {
    const key = serviceKeyOf(slice);
    return key === undefined ? [] : [key];
  });

  const sync = async (key: string): Promise<number | undefined> => {
    const waitMs = expectations.waitMs(key);
    if (waitMs > 0) return waitMs;
    const source = parts.endpoints.getByKey(key);
    const mirrored = isMirrored(source, parts.services.getByKey(key)) ? source : undefined;
    const existing = byService.get(key).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    const plan = planMirrors(existing, mirrored === undefined ? [] : computeMirrors(mirrored));
    try {
      for (const mirror of plan.create) {
        if (mirrored === undefined) break;
        const made = await client.create(endpointSlices, newEndpointSlice(endpoints, mirrored, mirror));
        if (parts.slices.get(keyOf(made)) === undefined) expectations.expect(key, 'created', made.metadata.uid);
      }
      for (const { slice, mirror } of plan.update) await client.update(endpointSlices, changed(slice, mirror));
      for (const slice of plan.delete)
        await client.delete(endpointSlices, keyOf(slice), { preconditions: { uid: slice.metadata.uid } });
    } catch (error) {
      if (!isNamespaceTerminating(error) && !isApiError(error, 'NotFound')) throw error;
    }
    return undefined;
  };

  const queue = new RateLimitingQueue({ name: 'endpoint-slice-mirroring', clock, log, workers: WORKERS, sync });
  const wake = (object: ApiObject): void => queue.add(formatKey(keyOf(object)));
  const wakeBySlice = (change: 'created' | 'deleted', slice: EndpointSlice): void => {
    expectations.observe(change, slice.metadata.uid);
    const key = serviceKeyOf(slice);
    if (key !== undefined) queue.add(key);
  };
  const onObject = { onAdd: wake, onUpdate: (_: ApiObject, object: ApiObject) => wake(object), onDelete: wake };
  const ends = [
    parts.endpoints.addHandlers(onObject),
    parts.services.addHandlers(onObject),
    parts.slices.addHandlers({
      onAdd: (slice) => wakeBySlice('created', slice),
      onUpdate: (before, slice) => {
        wakeBySlice('created', before);
        wakeBySlice('created', slice);
      },
      onDelete: (slice) => wakeBySlice('deleted', slice),
    }),
  ];
  return runController({
    name: 'endpoint slice mirroring controller',
    log,
    queues: [queue],
    informers: Object.values(parts),
    ends,
  });
}

/** Returns the service of a slice of this controller. */
function serviceKeyOf({ metadata: { namespace, labels = {} } }: EndpointSlice): string | undefined {
  const name = labels[endpointLabels.serviceName];
  return labels[endpointLabels.slicesManagedBy] === MIRRORING_CONTROLLER && name !== undefined
    ? `${namespace}/${name}`
    : undefined;
}

function changed(slice: EndpointSlice, { labels, annotations, endpoints: desired }: Mirror): EndpointSlice {
  return {
    ...slice,
    metadata: { ...slice.metadata, labels: { ...labels }, annotations: { ...annotations } },
    endpoints: [...desired],
  };
}
