import type { CertificateSigningRequest } from '../../../api/certificates/certificate-signing-request.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { certificateSigningRequests } from '../../../api/client/resource-types.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { removableAtMs } from './request-state.ts';

export interface CertificateCleanerOptions extends ControllerOptions {
  /**
   * Returns the expiry of the certificate in the status, in milliseconds since 1970, or undefined without a valid one.
   */
  readonly expiresAtMs: (request: CertificateSigningRequest) => number | undefined;
}

/**
 * Deletes requests some time after they were decided, or if they stay pending (upstream: csrcleaner). Each is checked
 * when it is due.
 */
export function createCertificateCleaner({
  client,
  informers,
  clock,
  log,
  expiresAtMs,
}: CertificateCleanerOptions): Controller {
  const requests = informers.for(certificateSigningRequests);
  const sync = async (name: string): Promise<number | undefined> => {
    const request = requests.get({ namespace: '', name });
    if (request === undefined) return undefined;
    const leftMs = removableAtMs(request, expiresAtMs(request)) - clock.nowMs();
    if (leftMs > 0) return leftMs;
    try {
      await client.delete(certificateSigningRequests, keyOf(request), { preconditions: { uid: request.metadata.uid } });
    } catch (error) {
      if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
    }
    return undefined;
  };
  const queue = new RateLimitingQueue({ name: 'csr-cleaning', clock, log, workers: 1, sync });
  const end = requests.addHandlers({
    onAdd: ({ metadata }) => queue.add(metadata.name),
    onUpdate: (_, { metadata }) => queue.add(metadata.name),
  });
  return runController({ name: 'certificate cleaner', log, queues: [queue], informers: [requests], ends: [end] });
}
