/**
 * Types that classes, claims and slices of dynamic resource allocation share: selectors, configuration, taints. The
 * fields follow k8s.io/api/resource/v1.
 */
import { field, int64, object, oneOf, rawExtension, pointer, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';

/** The finalizer of an allocated claim, until its devices are free again (upstream: resource/v1 Finalizer). */
export const CLAIM_FINALIZER = 'resource.kubernetes.io/delete-protection';
/** `true` on a claim that the scheduler made for the extended resources of a pod. */
export const EXTENDED_CLAIM_ANNOTATION = 'resource.kubernetes.io/extended-resource-claim';
/** The claim of `pod.spec.resourceClaims` that a generated ResourceClaim belongs to. */
export const POD_CLAIM_NAME_ANNOTATION = 'resource.kubernetes.io/pod-claim-name';
/** Set to `true` on a namespace, permits claims with admin access in it. */
export const ADMIN_ACCESS_LABEL = 'resource.kubernetes.io/admin-access';
/** The prefix of the extended resource that a DeviceClass provides if it names none. */
export const DEVICE_CLASS_RESOURCE_PREFIX = 'deviceclass.resource.kubernetes.io/';

export const CELDeviceSelectorSchema = object('CELDeviceSelector', { expression: required(1, string) });
export type CELDeviceSelector = Infer<typeof CELDeviceSelectorSchema>;

export const DeviceSelectorSchema = object('DeviceSelector', { cel: field(1, CELDeviceSelectorSchema) });
export type DeviceSelector = Infer<typeof DeviceSelectorSchema>;

export const OpaqueDeviceConfigurationSchema = object('OpaqueDeviceConfiguration', {
  driver: required(1, string),
  parameters: field(2, rawExtension, { mustBeWritten: true }),
});
export type OpaqueDeviceConfiguration = Infer<typeof OpaqueDeviceConfigurationSchema>;

/** Fields of the embedded DeviceConfiguration. */
export const deviceConfigurationFields = { opaque: field(1, OpaqueDeviceConfigurationSchema) };

const DeviceTaintEffectSchema = oneOf('None', 'NoSchedule', 'NoExecute');
export type DeviceTaintEffect = Infer<typeof DeviceTaintEffectSchema>;

export const DeviceTaintSchema = object('DeviceTaint', {
  key: required(1, string),
  value: field(2, string),
  effect: required(3, DeviceTaintEffectSchema),
  timeAdded: field(4, time),
});
export type DeviceTaint = Infer<typeof DeviceTaintSchema>;

export const DeviceTolerationSchema = object('DeviceToleration', {
  key: field(1, string),
  operator: field(2, oneOf('Exists', 'Equal')),
  value: field(3, string),
  effect: field(4, DeviceTaintEffectSchema),
  tolerationSeconds: pointer(5, int64),
});
export type DeviceToleration = Infer<typeof DeviceTolerationSchema>;
