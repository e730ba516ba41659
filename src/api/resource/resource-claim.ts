/** ResourceClaim of resource.k8s.io/v1. The fields follow k8s.io/api/resource/v1. */
import {
  array,
  boolean,
  field,
  filled,
  inline,
  int64,
  map,
  object,
  oneOf,
  rawExtension,
  pointer,
  quantity,
  required,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ConditionSchema } from '../core/condition.ts';
import { ObjectMetaSchema } from '../core/meta.ts';
import { NodeSelectorSchema } from '../core/scheduling.ts';
import { DeviceSelectorSchema, DeviceTolerationSchema, deviceConfigurationFields } from './device-config.ts';

export const CapacityRequirementsSchema = object('CapacityRequirements', { requests: field(1, map(quantity)) });
export type CapacityRequirements = Infer<typeof CapacityRequirementsSchema>;

const DeviceAllocationModeSchema = oneOf('ExactCount', 'All');
export type DeviceAllocationMode = Infer<typeof DeviceAllocationModeSchema>;

export const ExactDeviceRequestSchema = object('ExactDeviceRequest', {
  deviceClassName: required(1, string),
  selectors: field(2, array(DeviceSelectorSchema)),
  allocationMode: field(3, DeviceAllocationModeSchema),
  count: field(4, int64),
  adminAccess: pointer(5, boolean),
  tolerations: field(6, array(DeviceTolerationSchema)),
  capacity: field(7, CapacityRequirementsSchema),
});
export type ExactDeviceRequest = Infer<typeof ExactDeviceRequestSchema>;

export const DeviceSubRequestSchema = object('DeviceSubRequest', {
  name: required(1, string),
  deviceClassName: required(2, string),
  selectors: field(3, array(DeviceSelectorSchema)),
  allocationMode: field(4, DeviceAllocationModeSchema),
  count: field(5, int64),
  tolerations: field(6, array(DeviceTolerationSchema)),
  capacity: field(7, CapacityRequirementsSchema),
});
export type DeviceSubRequest = Infer<typeof DeviceSubRequestSchema>;

export const DeviceRequestSchema = object('DeviceRequest', {
  name: required(1, string),
  exactly: field(2, ExactDeviceRequestSchema),
  firstAvailable: field(3, array(DeviceSubRequestSchema)),
});
export type DeviceRequest = Infer<typeof DeviceRequestSchema>;

export const DeviceConstraintSchema = object('DeviceConstraint', {
  requests: field(1, array(string)),
  matchAttribute: pointer(2, string),
  distinctAttribute: pointer(3, string),
});
export type DeviceConstraint = Infer<typeof DeviceConstraintSchema>;

export const DeviceClaimConfigurationSchema = object('DeviceClaimConfiguration', {
  requests: field(1, array(string)),
  ...inline(2, deviceConfigurationFields),
});
export type DeviceClaimConfiguration = Infer<typeof DeviceClaimConfigurationSchema>;

export const DeviceClaimSchema = object('DeviceClaim', {
  requests: field(1, array(DeviceRequestSchema)),
  constraints: field(2, array(DeviceConstraintSchema)),
  config: field(3, array(DeviceClaimConfigurationSchema)),
});
export type DeviceClaim = Infer<typeof DeviceClaimSchema>;

export const ResourceClaimSpecSchema = object('ResourceClaimSpec', { devices: filled(1, DeviceClaimSchema) });
export type ResourceClaimSpec = Infer<typeof ResourceClaimSpecSchema>;

export const DeviceRequestAllocationResultSchema = object('DeviceRequestAllocationResult', {
  request: required(1, string),
  driver: required(2, string),
  pool: required(3, string),
  device: required(4, string),
  adminAccess: pointer(5, boolean),
  tolerations: field(6, array(DeviceTolerationSchema)),
  bindingConditions: field(7, array(string)),
  bindingFailureConditions: field(8, array(string)),
  shareID: pointer(9, string),
  consumedCapacity: field(10, map(quantity)),
});
export type DeviceRequestAllocationResult = Infer<typeof DeviceRequestAllocationResultSchema>;

const AllocationConfigSourceSchema = oneOf('FromClass', 'FromClaim');

export const DeviceAllocationConfigurationSchema = object('DeviceAllocationConfiguration', {
  source: required(1, AllocationConfigSourceSchema),
  requests: field(2, array(string)),
  ...inline(3, deviceConfigurationFields),
});
export type DeviceAllocationConfiguration = Infer<typeof DeviceAllocationConfigurationSchema>;

export const DeviceAllocationResultSchema = object('DeviceAllocationResult', {
  results: field(1, array(DeviceRequestAllocationResultSchema)),
  config: field(2, array(DeviceAllocationConfigurationSchema)),
});
export type DeviceAllocationResult = Infer<typeof DeviceAllocationResultSchema>;

export const AllocationResultSchema = object('AllocationResult', {
  devices: filled(1, DeviceAllocationResultSchema),
  nodeSelector: field(3, NodeSelectorSchema),
  allocationTimestamp: field(5, time),
});
export type AllocationResult = Infer<typeof AllocationResultSchema>;

export const ResourceClaimConsumerReferenceSchema = object('ResourceClaimConsumerReference', {
  apiGroup: field(1, string),
  resource: required(3, string),
  name: required(4, string),
  uid: required(5, string),
});
export type ResourceClaimConsumerReference = Infer<typeof ResourceClaimConsumerReferenceSchema>;

export const NetworkDeviceDataSchema = object('NetworkDeviceData', {
  interfaceName: field(1, string),
  ips: field(2, array(string)),
  hardwareAddress: field(3, string),
});
export type NetworkDeviceData = Infer<typeof NetworkDeviceDataSchema>;

export const AllocatedDeviceStatusSchema = object('AllocatedDeviceStatus', {
  driver: required(1, string),
  pool: required(2, string),
  device: required(3, string),
  conditions: filled(4, array(ConditionSchema, ['type'], { patch: 'replace' })),
  data: field(5, rawExtension),
  networkData: field(6, NetworkDeviceDataSchema),
  shareID: pointer(7, string),
});
export type AllocatedDeviceStatus = Infer<typeof AllocatedDeviceStatusSchema>;

export const ResourceClaimStatusSchema = object('ResourceClaimStatus', {
  allocation: field(1, AllocationResultSchema),
  reservedFor: field(2, array(ResourceClaimConsumerReferenceSchema, ['uid'])),
  devices: field(4, array(AllocatedDeviceStatusSchema, ['driver', 'device', 'pool', 'shareID'], { patch: 'replace' })),
});
export type ResourceClaimStatus = Infer<typeof ResourceClaimStatusSchema>;

export const ResourceClaimSchema = object('ResourceClaim', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: required(2, ResourceClaimSpecSchema),
  status: field(3, ResourceClaimStatusSchema),
});
export type ResourceClaim = Infer<typeof ResourceClaimSchema>;
