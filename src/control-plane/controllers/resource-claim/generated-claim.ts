import type { Pod } from '../../../api/core/pod.ts';
import { POD_CLAIM_NAME_ANNOTATION } from '../../../api/resource/device-config.ts';
import { isClaimForPod } from '../../../api/resource/pod-claims.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { ResourceClaimTemplate } from '../../../api/resource/resource-claim-template.ts';

/** The maximum length, which leaves room for a hyphen and five random characters in a DNS label. */
const LONGEST_BASE = 57;

/** Builds a claim from the template for one entry of the pod's `spec.resourceClaims`. The server completes its name. */
export function newPodClaim(pod: Pod, podClaim: string, { spec }: ResourceClaimTemplate): ResourceClaim {
  const { labels, annotations } = spec.metadata;
  const { namespace, name, uid } = pod.metadata;
  return {
    metadata: {
      name: '',
      generateName: generatedBase(name, podClaim),
      namespace,
      uid: '',
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid, controller: true }],
      annotations: { ...annotations, [POD_CLAIM_NAME_ANNOTATION]: podClaim },
      ...(labels !== undefined && { labels }),
    },
    spec: spec.spec,
  };
}

/**
 * Returns the base of the name. Long names are truncated in proportion, so that both remain recognizable (upstream:
 * handleClaim).
 */
function generatedBase(pod: string, podClaim: string): string {
  const base = `${pod}-${podClaim}-`;
  if (base.length <= LONGEST_BASE) return base;
  const cut = (text: string): string => text.slice(0, Math.trunc((text.length * LONGEST_BASE) / base.length));
  return `${cut(pod)}-${cut(podClaim)}`;
}

/** Whether the claim was generated for the pod; with `podClaim`, for this entry of its `spec.resourceClaims`. */
export function podOwnsClaim(pod: Pod, claim: ResourceClaim, podClaim?: string): boolean {
  if (!isClaimForPod(pod, claim)) return false;
  return podClaim === undefined || claim.metadata.annotations?.[POD_CLAIM_NAME_ANNOTATION] === podClaim;
}
