import type { CertificateSigningRequest } from '../../../api/certificates/certificate-signing-request.ts';
import { certificateSigningRequests, nodes } from '../../../api/client/resource-types.ts';
import type { Node } from '../../../api/core/node.ts';
import { canonicalIpv6 } from '../../../api/validation/network/endpoint-ip.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { isApproved, isDenied, isIssued } from './request-state.ts';

export interface ServingNames {
  readonly commonName: string;
  readonly dnsNames: readonly string[];
  /** IPv6 in its shortest form. */
  readonly ipAddresses: readonly string[];
}

export interface ServingApproverOptions extends ControllerOptions {
  /** The node name in a request for a kubelet's serving certificate; undefined for other requests. */
  readonly servingNames: (request: CertificateSigningRequest) => ServingNames | undefined;
}

/** A node that asks before its addresses are known is checked again. */
const AGAIN_MS = 5000;

/**
 * Approves serving certificates that a node requests for itself and for its own addresses. Upstream has no such
 * approver, because a node reports its own addresses and the approver must trust it. Therefore it is off by default,
 * and suits clusters with trusted nodes.
 */
export function createServingApprover(options: ServingApproverOptions): Controller {
  const { informers, clock, log } = options;
  const requests = informers.for(certificateSigningRequests);
  const sync = async (name: string): Promise<number | undefined> => {
    const request = requests.get({ namespace: '', name });
    return request === undefined || isIssued(request) || isApproved(request) || isDenied(request)
      ? undefined
      : judge(options, request);
  };
  const queue = new RateLimitingQueue({ name: 'kubelet-serving-approving', clock, log, workers: 1, sync });
  const end = requests.addHandlers({
    onAdd: ({ metadata }) => queue.add(metadata.name),
    onUpdate: (_, { metadata }) => queue.add(metadata.name),
  });
  return runController({ name: 'kubelet serving approver', log, queues: [queue], informers: [requests], ends: [end] });
}

async function judge(
  { client, servingNames }: ServingApproverOptions,
  request: CertificateSigningRequest,
): Promise<number | undefined> {
  const names = servingNames(request);
  // The API server recorded the requester: a node may request only for itself.
  if (
    names === undefined ||
    request.spec.username !== names.commonName ||
    !(request.spec.groups ?? []).includes('system:nodes')
  )
    return undefined;
  try {
    const node = await client.get(nodes, { namespace: '', name: names.commonName.slice('system:node:'.length) });
    if (!isOwn(names, node)) return AGAIN_MS;
    const condition = {
      type: 'Approved',
      status: 'True' as const,
      reason: 'AutoApproved',
      message: 'Auto approving kubelet serving certificate for addresses of the node.',
    };
    const conditions = [...(request.status?.conditions ?? []), condition];
    await client.update(
      certificateSigningRequests,
      { ...request, status: { ...request.status, conditions } },
      { subresource: 'approval' },
    );
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error;
    return AGAIN_MS;
  }
  return undefined;
}

function isOwn({ dnsNames, ipAddresses }: ServingNames, { status }: Node): boolean {
  const addresses = new Set(
    (status?.addresses ?? []).map(({ address }) => canonicalIpv6(address) ?? address.toLowerCase()),
  );
  return [...dnsNames.map((name) => name.toLowerCase()), ...ipAddresses].every((name) => addresses.has(name));
}
