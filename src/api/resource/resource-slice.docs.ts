import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  CapacityRequestPolicyRangeSchema,
  CapacityRequestPolicySchema,
  CounterSchema,
  CounterSetSchema,
  DeviceAttributeSchema,
  DeviceCapacitySchema,
  DeviceCounterConsumptionSchema,
  DeviceSchema,
  NodeAllocatableResourceMappingSchema,
  ResourcePoolSchema,
  ResourceSliceSchema,
  ResourceSliceSpecSchema,
} from './resource-slice.ts';

export const docs: readonly TypeDocs[] = [
  describe(CounterSchema, 'An amount that devices share.', {
    value: 'The value of a counter, or the amount that a device consumes.',
  }),
  describe(CounterSetSchema, 'A named set of counters that devices of the pool consume.', {
    name: 'The name of the set, unique in the pool.',
    counters: 'The counters by name. At most 32.',
  }),
  describe(DeviceCounterConsumptionSchema, 'How much of a set of counters a device consumes when it is allocated.', {
    counterSet: 'The name of the set.',
    counters: 'How much of each counter is consumed. At most 32.',
  }),
  describe(CapacityRequestPolicyRangeSchema, 'A range of amounts that may be requested.', {
    min: 'The smallest amount.',
    max: 'The largest amount. Default: all there is.',
    step: 'Requests are rounded up to min plus a multiple of step.',
  }),
  describe(CapacityRequestPolicySchema, 'Which amounts of a capacity may be requested.', {
    default: 'The amount for requests that name none.',
    validValues: 'The allowed amounts, in ascending order. Requests are rounded up to one of them. At most 10.',
    validRange: 'The allowed range. Not together with validValues.',
  }),
  describe(DeviceCapacitySchema, 'A capacity of a device.', {
    value: 'How much the device has.',
    requestPolicy: 'Which amounts may be requested. Only for devices that several claims may use.',
  }),
  describe(DeviceAttributeSchema, 'The value of an attribute. Exactly one field must be set.', {
    int: 'A number.',
    bool: 'True or false.',
    string: 'A string of at most 64 bytes.',
    version: 'A version as semver.org 2.0.0 defines it, at most 64 bytes.',
    ints: 'Several numbers. Needs the feature gate DRAListTypeAttributes; dropped without it.',
    bools: 'Several booleans. Needs the feature gate DRAListTypeAttributes; dropped without it.',
    strings: 'Several strings. Needs the feature gate DRAListTypeAttributes; dropped without it.',
    versions: 'Several versions. Needs the feature gate DRAListTypeAttributes; dropped without it.',
  }),
  describe(NodeAllocatableResourceMappingSchema, 'How a device counts as a resource of the node.', {
    capacityKey: 'The capacity of the device that is used.',
    allocationMultiplier: 'The amount is multiplied by this. Default 1.',
  }),
  describe(DeviceSchema, 'A device that claims can get.', {
    name: 'The name of the device, unique in its pool.',
    attributes: 'Properties of the device by name. A name without a domain belongs to the driver.',
    capacity: 'The capacities of the device, by name. At most 32 together with attributes.',
    consumesCounters: 'How much of shared counters the device consumes when it is allocated. At most 2.',
    nodeName: 'The node that has the device. Only with perDeviceNodeSelection.',
    nodeSelector: 'The nodes that can use the device. Only with perDeviceNodeSelection.',
    allNodes: 'True if all nodes can use the device. Only with perDeviceNodeSelection.',
    taints: 'Taints that keep away claims that do not tolerate them. At most 16.',
    bindsToNode: 'An allocation with this device is restricted to the node that was chosen for it.',
    bindingConditions: 'Conditions that must be true in the status of the claim before a pod is bound. At most 4.',
    bindingFailureConditions: 'Conditions that mean, when true, that binding failed. At most 4.',
    allowMultipleAllocations: 'True if several claims may use the device at the same time.',
    nodeAllocatableResourceMappings:
      'How the device counts as resources of the node. Needs the feature gate DRANodeAllocatableResources; dropped without it.',
  }),
  describe(ResourcePoolSchema, 'The pool that the devices of a slice belong to.', {
    name: 'The name of the pool, often that of the node. A driver uses a name only once.',
    generation:
      'Counts changes of the pool. Slices with an older generation than the newest one of the pool are ignored.',
    resourceSliceCount: 'How many slices this generation of the pool has. Until all exist the pool is incomplete.',
  }),
  describe(ResourceSliceSpecSchema, 'Devices of one driver, in one pool, and where they are available.', {
    driver: 'The name of the driver, a DNS subdomain. It cannot be changed.',
    pool: 'The pool that the devices belong to.',
    nodeName: 'The node that has the devices. It cannot be changed.',
    nodeSelector: 'The nodes that can use the devices. Exactly one term.',
    allNodes: 'True if all nodes can use the devices.',
    devices:
      'The devices. At most 128, or 64 if one has taints or consumes counters. Not together with sharedCounters.',
    perDeviceNodeSelection: 'True if each device says which nodes can use it.',
    sharedCounters: 'Sets of counters that devices of the pool consume. At most 8.',
  }),
  describe(ResourceSliceSchema, 'Devices that a driver offers. Drivers create slices; the scheduler reads them.', {}),
];
