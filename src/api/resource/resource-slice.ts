/** ResourceSlice of resource.k8s.io/v1. The fields follow k8s.io/api/resource/v1. */
import {
  array,
  boolean,
  field,
  filled,
  int64,
  map,
  object,
  pointer,
  quantity,
  required,
  string,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';
import { NodeSelectorSchema } from '../core/scheduling.ts';
import { DeviceTaintSchema } from './device-config.ts';

export const CounterSchema = object('Counter', { value: required(1, quantity) });
export type Counter = Infer<typeof CounterSchema>;

export const CounterSetSchema = object('CounterSet', {
  name: required(1, string),
  counters: field(2, map(CounterSchema), { mustBeWritten: true }),
});
export type CounterSet = Infer<typeof CounterSetSchema>;

export const DeviceCounterConsumptionSchema = object('DeviceCounterConsumption', {
  counterSet: required(1, string),
  counters: field(2, map(CounterSchema), { mustBeWritten: true }),
});
export type DeviceCounterConsumption = Infer<typeof DeviceCounterConsumptionSchema>;

export const CapacityRequestPolicyRangeSchema = object('CapacityRequestPolicyRange', {
  min: field(1, quantity, { mustBeWritten: true }),
  max: field(2, quantity),
  step: field(3, quantity),
});
export type CapacityRequestPolicyRange = Infer<typeof CapacityRequestPolicyRangeSchema>;

export const CapacityRequestPolicySchema = object('CapacityRequestPolicy', {
  default: field(1, quantity),
  validValues: field(3, array(quantity)),
  validRange: field(4, CapacityRequestPolicyRangeSchema),
});
export type CapacityRequestPolicy = Infer<typeof CapacityRequestPolicySchema>;

export const DeviceCapacitySchema = object('DeviceCapacity', {
  value: required(1, quantity),
  requestPolicy: field(2, CapacityRequestPolicySchema),
});
export type DeviceCapacity = Infer<typeof DeviceCapacitySchema>;

export const DeviceAttributeSchema = object('DeviceAttribute', {
  int: pointer(2, int64),
  bool: pointer(3, boolean),
  string: pointer(4, string),
  version: pointer(5, string),
  ints: field(6, array(int64)),
  bools: field(7, array(boolean)),
  strings: field(8, array(string)),
  versions: field(9, array(string)),
});
export type DeviceAttribute = Infer<typeof DeviceAttributeSchema>;

export const NodeAllocatableResourceMappingSchema = object('NodeAllocatableResourceMapping', {
  capacityKey: pointer(1, string),
  allocationMultiplier: field(2, quantity),
});
export type NodeAllocatableResourceMapping = Infer<typeof NodeAllocatableResourceMappingSchema>;

export const DeviceSchema = object('Device', {
  name: required(1, string),
  attributes: field(2, map(DeviceAttributeSchema)),
  capacity: field(3, map(DeviceCapacitySchema)),
  consumesCounters: field(4, array(DeviceCounterConsumptionSchema)),
  nodeName: pointer(5, string),
  nodeSelector: field(6, NodeSelectorSchema),
  allNodes: pointer(7, boolean),
  taints: field(8, array(DeviceTaintSchema)),
  bindsToNode: pointer(9, boolean),
  bindingConditions: field(10, array(string)),
  bindingFailureConditions: field(11, array(string)),
  allowMultipleAllocations: pointer(12, boolean),
  nodeAllocatableResourceMappings: field(13, map(NodeAllocatableResourceMappingSchema)),
});
export type Device = Infer<typeof DeviceSchema>;

export const ResourcePoolSchema = object('ResourcePool', {
  name: required(1, string),
  generation: required(2, int64),
  resourceSliceCount: required(3, int64),
});
export type ResourcePool = Infer<typeof ResourcePoolSchema>;

export const ResourceSliceSpecSchema = object('ResourceSliceSpec', {
  driver: required(1, string),
  pool: required(2, ResourcePoolSchema),
  nodeName: pointer(3, string),
  nodeSelector: field(4, NodeSelectorSchema),
  allNodes: pointer(5, boolean),
  devices: field(6, array(DeviceSchema)),
  perDeviceNodeSelection: pointer(7, boolean),
  sharedCounters: field(8, array(CounterSetSchema)),
});
export type ResourceSliceSpec = Infer<typeof ResourceSliceSpecSchema>;

/** Cluster-scoped. */
export const ResourceSliceSchema = object('ResourceSlice', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: required(2, ResourceSliceSpecSchema),
});
export type ResourceSlice = Infer<typeof ResourceSliceSchema>;
