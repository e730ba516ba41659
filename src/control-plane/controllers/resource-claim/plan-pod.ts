import type { Pod } from '../../../api/core/pod.ts';
import type { PodResourceClaim } from '../../../api/core/pod-spec.ts';
import { canBeReserved, isReservedFor, podClaimName } from '../../../api/resource/pod-claims.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { ResourceClaimTemplate } from '../../../api/resource/resource-claim-template.ts';
import { newPodClaim, podOwnsClaim } from './generated-claim.ts';
import { isPodDone } from './plan-claim.ts';

/** The known claims of one pod. */
export interface PodClaimFacts {
  claim(name: string): ResourceClaim | undefined;
  template(name: string): ResourceClaimTemplate | undefined;
  /** The claims that were generated for the pod. */
  readonly generated: readonly ResourceClaim[];
}

export interface PodPlan {
  /** The claims to create from their templates, each with the entry of the pod. */
  readonly creates: readonly { readonly podClaim: string; readonly claim: ResourceClaim }[];
  /** The entries to write to `status.resourceClaimStatuses`, for claims that exist already. */
  readonly statuses: readonly { readonly name: string; readonly resourceClaimName: string }[];
  /** The claims to reserve for the pod, whose node was not chosen by the scheduler. */
  readonly reserves: readonly ResourceClaim[];
  /** The reason why a claim cannot be created, for events. */
  readonly failure?: string;
}

const nothing: PodPlan = { creates: [], statuses: [], reserves: [] };

/** Plans the missing claims of a pod (upstream: resourceclaim controller syncPod). */
export function planPod(pod: Pod, facts: PodClaimFacts): PodPlan {
  // Upstream creates another claim for an ended pod when its claim is deleted, and then deletes that one again.
  if (pod.metadata.deletionTimestamp !== undefined || isPodDone(pod)) return nothing;
  const creates: PodPlan['creates'][number][] = [];
  const statuses: PodPlan['statuses'][number][] = [];
  let failure: string | undefined;
  for (const podClaim of pod.spec.resourceClaims ?? []) {
    const missing = planClaim(pod, podClaim, facts);
    if (missing === undefined) continue;
    if (missing.kind === 'failure') failure ??= `PodResourceClaim ${podClaim.name}: ${missing.message}`;
    else if (missing.kind === 'create') creates.push({ podClaim: podClaim.name, claim: missing.claim });
    else statuses.push({ name: podClaim.name, resourceClaimName: missing.name });
  }
  const reserves = (pod.spec.nodeName ?? '') === '' ? [] : claimsToReserve(pod, facts);
  return { creates, statuses, reserves, ...(failure !== undefined && { failure }) };
}

type Missing =
  | { readonly kind: 'create'; readonly claim: ResourceClaim }
  | { readonly kind: 'status'; readonly name: string }
  | { readonly kind: 'failure'; readonly message: string };

function planClaim(pod: Pod, podClaim: PodResourceClaim, facts: PodClaimFacts): Missing | undefined {
  const { resourceClaimTemplateName } = podClaim;
  if (resourceClaimTemplateName === undefined) return undefined;
  const known = podClaimName(pod, podClaim);
  if (known.kind === 'notNeeded') return undefined;
  if (known.kind === 'named') {
    const claim = facts.claim(known.name);
    if (claim !== undefined && podOwnsClaim(pod, claim)) return undefined;
  }
  const existing = facts.generated.find((claim) => podOwnsClaim(pod, claim, podClaim.name));
  if (existing !== undefined) return { kind: 'status', name: existing.metadata.name };
  const template = facts.template(resourceClaimTemplateName);
  if (template === undefined)
    return {
      kind: 'failure',
      message: `resource claim template "${resourceClaimTemplateName}": resourceclaimtemplate.resource.k8s.io "${resourceClaimTemplateName}" not found`,
    };
  return { kind: 'create', claim: newPodClaim(pod, podClaim.name, template) };
}

/** Returns the allocated claims of a pod that was bound without the scheduler. */
function claimsToReserve(pod: Pod, facts: PodClaimFacts): ResourceClaim[] {
  return (pod.spec.resourceClaims ?? []).flatMap((podClaim) => {
    const known = podClaimName(pod, podClaim);
    if (known.kind !== 'named') return [];
    const claim = facts.claim(known.name);
    if (claim?.status?.allocation === undefined || (known.mustOwn && !podOwnsClaim(pod, claim))) return [];
    return isReservedFor(claim, pod) || !canBeReserved(claim) ? [] : [claim];
  });
}
