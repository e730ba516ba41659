import type { Plugin } from '../framework/plugin.ts';
import { unresolvable } from '../framework/rejection.ts';

const name = 'DynamicResources';

/** What it says after a pod found no node; upstream asks it before preemption, whether the pod has claims or not. */
export const nothingToDeallocate = 'no new claims to deallocate';

/** What it says instead when another plugin had rejected the pod before it was asked. */
export const notPrepared = 'not found';

/**
 * Resource claims. The control plane has no resource.k8s.io, so no claim that a pod names is there: such a pod waits as
 * it does upstream while its claim is missing, and is never run without what it asked for.
 */
export const dynamicResources: Plugin = {
  name,
  preEnqueue: ({ metadata, spec, status }) => {
    for (const { name: claim, resourceClaimName, resourceClaimTemplateName } of spec.resourceClaims ?? []) {
      if (resourceClaimName !== undefined)
        return unresolvable(name, `resourceclaim.resource.k8s.io "${resourceClaimName}" not found`);
      const made = status?.resourceClaimStatuses?.find((one) => one.name === claim);
      if (made?.resourceClaimName !== undefined)
        return unresolvable(name, `resourceclaim.resource.k8s.io "${made.resourceClaimName}" not found`);
      if (made === undefined && resourceClaimTemplateName !== undefined)
        return unresolvable(name, `pod "${metadata.namespace}/${metadata.name}": ResourceClaim not created yet`);
    }
    return undefined;
  },
};
