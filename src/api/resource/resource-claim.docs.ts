import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  AllocatedDeviceStatusSchema,
  AllocationResultSchema,
  CapacityRequirementsSchema,
  DeviceAllocationConfigurationSchema,
  DeviceAllocationResultSchema,
  DeviceClaimConfigurationSchema,
  DeviceClaimSchema,
  DeviceConstraintSchema,
  DeviceRequestAllocationResultSchema,
  DeviceRequestSchema,
  DeviceSubRequestSchema,
  ExactDeviceRequestSchema,
  NetworkDeviceDataSchema,
  ResourceClaimConsumerReferenceSchema,
  ResourceClaimSchema,
  ResourceClaimSpecSchema,
  ResourceClaimStatusSchema,
} from './resource-claim.ts';

const requestFields = {
  deviceClassName: 'The DeviceClass that the devices must belong to.',
  selectors: 'Selectors that a device must match, in addition to those of its class. At most 32.',
  allocationMode:
    'How many devices: ExactCount, as many as `count`; All, every matching device of the node, of which there must be at least one. Default ExactCount.',
  count: 'How many devices. Only with ExactCount. Default 1.',
  tolerations: 'Taints of devices that the request tolerates. At most 16.',
  capacity: 'How much of a device that several claims may share is needed.',
};
const REQUEST_NAMES =
  'The requests to which it applies, by name or REQUEST/SUBREQUEST. Empty: all requests. At most 32.';

export const docs: readonly TypeDocs[] = [
  describe(CapacityRequirementsSchema, 'How much of the capacity of a device is needed.', {
    requests: 'Amounts by the name of the capacity. A device with less of one is not suitable.',
  }),
  describe(ExactDeviceRequestSchema, 'Requests one or more devices of a class.', {
    ...requestFields,
    adminAccess:
      'True for access to devices that are in use, for example to monitor them. Needs the label `resource.kubernetes.io/admin-access: true` on the namespace.',
  }),
  describe(DeviceSubRequestSchema, 'One of several alternatives of a request.', {
    name: 'The name of the alternative; others refer to it as REQUEST/SUBREQUEST.',
    ...requestFields,
  }),
  describe(DeviceRequestSchema, 'A request for devices. Exactly one of exactly and firstAvailable must be set.', {
    name: 'The name of the request; containers and configuration refer to it.',
    exactly: 'The required devices, without alternatives.',
    firstAvailable: 'Alternatives in order of preference. The first that can be satisfied is used. At most 8.',
  }),
  describe(DeviceConstraintSchema, 'A constraint that several devices of a claim must meet together.', {
    requests: REQUEST_NAMES,
    matchAttribute: 'All devices must have this attribute with the same value, such as dra.example.com/numa.',
    distinctAttribute: 'All devices must have this attribute, each with a different value.',
  }),
  describe(DeviceClaimConfigurationSchema, 'Configuration for the devices of a claim.', {
    requests: REQUEST_NAMES,
    opaque: 'Parameters for a driver.',
  }),
  describe(DeviceClaimSchema, 'Which devices a claim needs.', {
    requests: 'The requests, which must all be satisfied. At most 32.',
    constraints: 'Constraints that all selected devices must meet together. At most 32.',
    config: 'Configuration for the drivers of the devices. At most 32.',
  }),
  describe(ResourceClaimSpecSchema, 'What a claim needs. It cannot be changed.', { devices: 'The devices it needs.' }),
  describe(DeviceRequestAllocationResultSchema, 'A device that was allocated for a request.', {
    request: 'The request, or REQUEST/SUBREQUEST, that the device was allocated for.',
    driver: 'The driver that the kubelet calls to prepare the device.',
    pool: 'The pool that the device belongs to.',
    device: 'The name of the device in its pool.',
    adminAccess: 'The device was allocated for administrative access, which does not take it away from others.',
    tolerations: 'The tolerations of the request when the device was allocated.',
    bindingConditions: 'Conditions that must be true in the status of the device before the pod is bound.',
    bindingFailureConditions: 'Conditions that mean, when true, that the device cannot be used.',
    shareID: 'Identifies this share of a device that several claims may use.',
    consumedCapacity: 'The amounts of the device’s capacities that this claim uses, by name of the capacity.',
  }),
  describe(DeviceAllocationConfigurationSchema, 'Configuration that applies to the allocated devices.', {
    source: 'Where the configuration comes from: FromClass or FromClaim.',
    requests: REQUEST_NAMES,
    opaque: 'Parameters for a driver.',
  }),
  describe(DeviceAllocationResultSchema, 'The allocated devices and their configuration.', {
    results: 'The allocated devices.',
    config: 'Configuration, that of classes first. Where both set the same, the later one applies.',
  }),
  describe(AllocationResultSchema, 'What was allocated for a claim.', {
    devices: 'The allocated devices.',
    nodeSelector: 'Where the devices are available. Not set: on all nodes.',
    allocationTimestamp: 'When the devices were allocated.',
  }),
  describe(ResourceClaimConsumerReferenceSchema, 'A user of a claim, usually a pod.', {
    apiGroup: 'The group of the resource. Empty for the core group.',
    resource: 'The resource of the user, such as pods.',
    name: 'The name of the user.',
    uid: 'The UID of the user.',
  }),
  describe(NetworkDeviceDataSchema, 'The state of a network device.', {
    interfaceName: 'The name of the network interface in the pod.',
    ips: 'Addresses of the interface, each with its prefix length. At most 16.',
    hardwareAddress: 'The hardware address, usually a MAC address.',
  }),
  describe(AllocatedDeviceStatusSchema, 'What a driver reports about an allocated device.', {
    driver: 'The driver of the device.',
    pool: 'The pool of the device.',
    device: 'The name of the device in its pool.',
    conditions: 'Conditions of the device. At most 8.',
    data: 'A JSON object of the driver, at most 10 KiB.',
    networkData: 'Properties of a network device.',
    shareID: 'The share, if several claims may use the device.',
  }),
  describe(ResourceClaimStatusSchema, 'Whether a claim is allocated and who uses it.', {
    allocation: 'What was allocated. Not set while the claim is not allocated.',
    reservedFor: 'The users that may use the claim now. At most 256. A pod runs only if it is listed here.',
    devices: 'What drivers report about the allocated devices.',
  }),
  describe(ResourceClaimSchema, 'Requests devices for pods and records which were allocated.', {}),
];
