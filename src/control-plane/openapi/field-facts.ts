import type { Field } from '../../api/schema/schema.ts';

/** What the API's documents say of fields and the schemas, which are written for decoding, do not. Fields are named `Type.field`. */

/** Times with six digits after the seconds. */
export const microTimes: ReadonlySet<string> = new Set([
  'Event.eventTime',
  'EventSeries.lastObservedTime',
  'LeaseSpec.acquireTime',
  'LeaseSpec.renewTime',
]);

/** The schema lists the values; to the documents the field is any text. */
export const plainEnums: ReadonlySet<string> = new Set([
  'CSIDriverSpec.fsGroupPolicy',
  'Container.restartPolicy',
  'ContainerResizePolicy.restartPolicy',
  'ContainerRestartRule.action',
  'ContainerRestartRuleOnExitCodes.operator',
  'EphemeralContainer.restartPolicy',
  'LabelSelectorRequirement.operator',
  'ManagedFieldsEntry.operation',
  'PodOS.name',
  'PodSecurityContext.seLinuxChangePolicy',
  'PodStatus.resize',
  'ResourceHealth.health',
  'VolumeMount.recursiveReadOnly',
  'VolumeMountStatus.recursiveReadOnly',
]);

/** Always there after decoding, but nobody has to write them. */
const optional: ReadonlySet<string> = new Set([
  'ClusterRole.rules',
  'ConfigMapEnvSource.name',
  'ConfigMapKeySelector.name',
  'ConfigMapProjection.name',
  'ConfigMapVolumeSource.name',
  'ContainerImage.names',
  'CSINodeDriver.topologyKeys',
  'DaemonSet.spec',
  'Deployment.spec',
  'EndpointSlice.endpoints',
  'EndpointSlice.ports',
  'Event.reportingComponent',
  'Event.reportingInstance',
  'Job.spec',
  'Lease.spec',
  'LimitRange.spec',
  'LocalObjectReference.name',
  'Namespace.spec',
  'NodeRuntimeHandler.name',
  'ObjectMeta.name',
  'ObjectMeta.namespace',
  'ObjectMeta.uid',
  'PersistentVolume.spec',
  'PersistentVolumeClaim.spec',
  'Pod.spec',
  'PodTemplateSpec.spec',
  'PodDisruptionBudget.spec',
  'PodDisruptionBudgetStatus.disruptionsAllowed',
  'PodDisruptionBudgetStatus.currentHealthy',
  'PodDisruptionBudgetStatus.desiredHealthy',
  'PodDisruptionBudgetStatus.expectedPods',
  'PriorityClass.value',
  'PodFailurePolicyOnPodConditionsPattern.status',
  'ProjectedVolumeSource.sources',
  'ReplicaSet.spec',
  'ReplicaSetSpec.template',
  'ResourceQuota.spec',
  'Role.rules',
  'RoleRef.apiGroup',
  'Scale.spec',
  'Secret.metadata',
  'SecretEnvSource.name',
  'SecretKeySelector.name',
  'SecretProjection.name',
  'Service.spec',
  'TokenRequestSpec.audiences',
  'TokenRequestStatus.token',
]);

/** May be missing after decoding, but must be written. */
const mandatory: ReadonlySet<string> = new Set([
  'Condition.lastTransitionTime',
  'ContainerRestartRule.action',
  'ContainerRestartRuleOnExitCodes.operator',
  'EventSeries.lastObservedTime',
  'ImageVolumeStatus.imageRef',
  'MutatingWebhook.sideEffects',
  'PodCertificateProjection.keyType',
  'PodCertificateProjection.signerName',
  'PortStatus.protocol',
  'ScaleIOVolumeSource.secretRef',
  'TokenReviewSpec.token',
  'ValidatingWebhook.sideEffects',
]);

/** Two types bear these names; they are told apart by their full names. */
const byFullName: Readonly<Record<string, boolean>> = {
  'io.k8s.api.core.v1.Event.metadata': true,
  'io.k8s.api.events.v1.Event.eventTime': true,
  'io.k8s.api.core.v1.EventSeries.lastObservedTime': false,
  'io.k8s.api.authentication.v1.TokenRequest.spec': false,
};

/** Whether a document without the field is wrong, as the API's documents have it. */
export function isRequired(fullName: string, name: string, field: Field): boolean {
  const known = byFullName[`${fullName}.${name}`];
  if (known !== undefined) return known;
  const place = `${fullName.slice(fullName.lastIndexOf('.') + 1)}.${name}`;
  if (name === 'metadata' || optional.has(place)) return false;
  return field.required || mandatory.has(place);
}
