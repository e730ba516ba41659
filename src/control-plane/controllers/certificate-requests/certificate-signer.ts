import type { CertificateSigningRequest } from '../../../api/certificates/certificate-signing-request.ts';
import { certificateSigningRequests } from '../../../api/client/resource-types.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { isApproved, isFailed, isIssued } from './request-state.ts';

export type Signed =
  /** PEM, in base64. */
  | { readonly kind: 'signed'; readonly certificate: string }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'ignored' };

export interface CertificateSignerOptions extends ControllerOptions {
  readonly sign: (request: CertificateSigningRequest) => Promise<Signed>;
}

/**
 * Signs approved requests for the cluster's own signers; marks requests that the signer does not accept as failed
 * (upstream: csrsigning).
 */
export function createCertificateSigner({ client, informers, clock, log, sign }: CertificateSignerOptions): Controller {
  const requests = informers.for(certificateSigningRequests);
  const sync = async (name: string): Promise<void> => {
    const request = requests.get({ namespace: '', name });
    if (request === undefined || !isApproved(request) || isIssued(request) || isFailed(request)) return;
    const outcome = await sign(request);
    if (outcome.kind === 'ignored') return;
    const failed = {
      type: 'Failed',
      status: 'True' as const,
      reason: 'SignerValidationFailure',
      ...(outcome.kind === 'refused' && { message: outcome.message }),
    };
    const status =
      outcome.kind === 'signed'
        ? { ...request.status, certificate: outcome.certificate }
        : { ...request.status, conditions: [...(request.status?.conditions ?? []), failed] };
    try {
      await client.update(certificateSigningRequests, { ...request, status }, { subresource: 'status' });
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
  };
  const queue = new RateLimitingQueue({ name: 'csr-signing', clock, log, workers: 2, sync });
  const end = requests.addHandlers({
    onAdd: ({ metadata }) => queue.add(metadata.name),
    onUpdate: (_, { metadata }) => queue.add(metadata.name),
  });
  return runController({ name: 'certificate signer', log, queues: [queue], informers: [requests], ends: [end] });
}
