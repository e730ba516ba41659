/**
 * Features that nodes of a cluster may have or not, which this node says it has: sorted by name. Facts: component-helpers/nodedeclaredfeatures.
 * The user-namespace one needs a runtime that offers it, which CRI v1 of containerd 2 does not say yet.
 */
const declarable = [
  'ExtendWebSocketsToKubelet',
  'InPlacePodLevelResourcesVerticalScaling',
  'InPlacePodVerticalScalingInitContainers',
  'RestartAllContainersOnContainerExits',
] as const;

/** For `node.status.declaredFeatures`. */
export function declaredFeatures(gates: { enabled(name: string): boolean }): string[] {
  return gates.enabled('NodeDeclaredFeatures') ? declarable.filter((name) => gates.enabled(name)) : [];
}
