import type { CertificateSigningRequest } from '../../../api/certificates/certificate-signing-request.ts';
import { certificateSigningRequests, subjectAccessReviews } from '../../../api/client/resource-types.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { isApproved, isDenied, isIssued } from './request-state.ts';

export interface CertificateApproverOptions extends ControllerOptions {
  /** Returns the node name in a request for a kubelet's client certificate, or undefined for other requests. */
  readonly kubeletClientName: (request: CertificateSigningRequest) => string | undefined;
}

/**
 * Approves requests for kubelet client certificates: of bootstrap tokens for any node, and of nodes for themselves
 * (upstream: csrapproving).
 */
export function createCertificateApprover(options: CertificateApproverOptions): Controller {
  const { informers, clock, log } = options;
  const requests = informers.for(certificateSigningRequests);
  const queue = new RateLimitingQueue({
    name: 'csr-approving',
    clock,
    log,
    workers: 2,
    sync: async (name) => {
      const request = requests.get({ namespace: '', name });
      return request === undefined || isIssued(request) || isApproved(request) || isDenied(request)
        ? undefined
        : judge(options, request);
    },
  });
  const end = requests.addHandlers({
    onAdd: ({ metadata }) => queue.add(metadata.name),
    onUpdate: (_, { metadata }) => queue.add(metadata.name),
  });
  return runController({ name: 'certificate approver', log, queues: [queue], informers: [requests], ends: [end] });
}

/** The permissions in order. The first one that the requester has is used. */
const grants = [
  {
    subresource: 'selfnodeclient',
    own: true,
    message: 'Auto approving self kubelet client certificate after SubjectAccessReview.',
  },
  {
    subresource: 'nodeclient',
    own: false,
    message: 'Auto approving kubelet client certificate after SubjectAccessReview.',
  },
];

/** The retry interval after a refusal, because permissions may be granted without an event. */
const REFUSED_AGAIN_MS = 30_000;

async function judge(
  options: CertificateApproverOptions,
  request: CertificateSigningRequest,
): Promise<number | undefined> {
  const name = options.kubeletClientName(request);
  if (name === undefined) return undefined;
  for (const { subresource, own, message } of grants) {
    if (own && request.spec.username !== name) continue;
    if (!(await mayAsk(options, request, subresource))) continue;
    const condition = { type: 'Approved', status: 'True' as const, reason: 'AutoApproved', message };
    try {
      const conditions = [...(request.status?.conditions ?? []), condition];
      await options.client.update(
        certificateSigningRequests,
        { ...request, status: { ...request.status, conditions } },
        { subresource: 'approval' },
      );
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
    return undefined;
  }
  return REFUSED_AGAIN_MS;
}

async function mayAsk(
  { client }: CertificateApproverOptions,
  { spec }: CertificateSigningRequest,
  subresource: string,
): Promise<boolean> {
  const { username, uid, groups, extra } = spec;
  const review = await client.create(subjectAccessReviews, {
    metadata: { name: '', namespace: '', uid: '' },
    spec: {
      ...(username !== undefined && { user: username }),
      ...(uid !== undefined && { uid }),
      ...(groups !== undefined && { groups }),
      ...(extra !== undefined && { extra }),
      resourceAttributes: {
        group: 'certificates.k8s.io',
        resource: 'certificatesigningrequests',
        verb: 'create',
        version: '*',
        subresource,
      },
    },
  });
  return review.status?.allowed === true;
}
