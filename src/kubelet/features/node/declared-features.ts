/**
 * Optional features of a node that this node declares, sorted by name. Facts: component-helpers/nodedeclaredfeatures.
 * The user-namespace one needs a runtime that offers it, which CRI v1 of containerd 2 does not report yet.
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
