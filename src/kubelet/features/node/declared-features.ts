/**
 * The optional features that this node can declare, sorted by name (source: component-helpers/nodedeclaredfeatures).
 * The user-namespace feature needs a runtime that reports it, which containerd 2 does not yet do in CRI v1.
 */
const declarable = [
  'ExtendWebSocketsToKubelet',
  'InPlacePodLevelResourcesVerticalScaling',
  'InPlacePodVerticalScalingInitContainers',
  'RestartAllContainersOnContainerExits',
] as const;

/** Returns the features for `node.status.declaredFeatures`. */
export function declaredFeatures(gates: { enabled(name: string): boolean }): string[] {
  return gates.enabled('NodeDeclaredFeatures') ? declarable.filter((name) => gates.enabled(name)) : [];
}
