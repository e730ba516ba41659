import { formatKey, keyOf, parseKey } from '../../../api/client/resource-type.ts';
import { podCertificateRequests } from '../../../api/client/resource-types.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { parseTime } from '../../../api/time.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { runController } from '../../controller-runtime/run-controller.ts';

/**
 * The time after which a request is deleted. Requests are completed and fetched before (upstream:
 * newPodCertificateRequestCleanerController).
 */
const KEPT_MS = 15 * 60_000;

/** Removes each request some time after its creation, whatever its state (upstream: PCRCleanerController). */
export function createPodCertificateCleaner({ client, informers, clock, log }: ControllerOptions): Controller {
  const requests = informers.for(podCertificateRequests);
  const sync = async (key: string): Promise<number | undefined> => {
    const request = requests.get(parseKey(key));
    if (request === undefined) return undefined;
    const leftMs = (parseTime(request.metadata.creationTimestamp) ?? 0) + KEPT_MS - clock.nowMs();
    if (leftMs > 0) return leftMs;
    try {
      await client.delete(podCertificateRequests, keyOf(request), { preconditions: { uid: request.metadata.uid } });
    } catch (error) {
      if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
    }
    return undefined;
  };
  const queue = new RateLimitingQueue({ name: 'pod-certificate-cleaning', clock, log, workers: 1, sync });
  const end = requests.addHandlers({ onAdd: (request) => queue.add(formatKey(keyOf(request))) });
  return runController({ name: 'pod certificate cleaner', log, queues: [queue], informers: [requests], ends: [end] });
}
