import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { checkWith, skip } from '../framework/plugin.ts';
import type { Plugin } from '../framework/plugin.ts';
import { unresolvable } from '../framework/rejection.ts';

const NAME = 'NodeDeclaredFeatures';
const rejection = unresolvable(NAME, "node(s) didn't match Pod's required features");

/** Rejects nodes that do not declare a feature that the pod uses (`status.declaredFeatures`). */
export const nodeDeclaredFeatures: Plugin = {
  name: NAME,
  hints: {
    Node: [
      {
        actions: ['Add', 'UpdateNodeDeclaredFeature'],
        mayHelp: (pod, { after }) =>
          requiredFeatures(pod).every((feature) => (after?.status?.declaredFeatures ?? []).includes(feature)),
      },
    ],
    Pod: [
      {
        actions: ['Update'],
        mayHelp: (pod, { after }) =>
          after?.metadata.uid === pod.metadata.uid && after.metadata.generation !== pod.metadata.generation,
      },
    ],
  },
  preFilter: ({ pod }) => {
    const required = requiredFeatures(pod);
    if (required.length === 0) return skip;
    return checkWith(({ node }) =>
      required.every((feature) => (node.status?.declaredFeatures ?? []).includes(feature)) ? undefined : rejection,
    );
  },
};

/**
 * Returns the declared features of v1.36 that a pod needs before it runs (upstream:
 * component-helpers/nodedeclaredfeatures).
 */
function requiredFeatures({ spec }: Pod): string[] {
  const restartsAll = ({ restartPolicyRules }: Container): boolean =>
    (restartPolicyRules ?? []).some(({ action }) => action === 'RestartAllContainers');
  const features: string[] = [];
  if ([...spec.containers, ...(spec.initContainers ?? [])].some(restartsAll))
    features.push('RestartAllContainersOnContainerExits');
  if (spec.hostNetwork === true && spec.hostUsers === false) features.push('UserNamespacesHostNetworkSupport');
  return features;
}
