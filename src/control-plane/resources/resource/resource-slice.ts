import { resourceSlices } from '../../../api/client/resource-types.ts';
import type { DeviceAttribute, Device, ResourceSlice } from '../../../api/resource/resource-slice.ts';
import { ResourceSliceSchema } from '../../../api/resource/resource-slice.ts';
import { formatTime } from '../../../api/time.ts';
import {
  validateResourceSlice,
  validateResourceSliceUpdate,
} from '../../../api/validation/devices/validate-resource-slice.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import type { RequestFacts } from '../../model/resource-definition.ts';
import { defineResource } from '../define-resource.ts';

/** Drops fields whose gates are off by default: DRAListTypeAttributes, DRANodeAllocatableResources. */
function dropAlpha({ nodeAllocatableResourceMappings: _, ...device }: Device): Device {
  if (device.attributes === undefined) return device;
  const single = ({ ints: _i, bools: _b, strings: _s, versions: _v, ...rest }: DeviceAttribute): DeviceAttribute =>
    rest;
  const attributes = Object.fromEntries(
    Object.entries(device.attributes).map(([name, attribute]) => [name, single(attribute)]),
  );
  return { ...device, attributes };
}

/** Sets the time of taints without one to the time of the request. */
function prepare(slice: ResourceSlice, { nowMs }: RequestFacts): ResourceSlice {
  if (slice.spec.devices === undefined) return slice;
  const devices = slice.spec.devices.map(dropAlpha).map((device) => {
    if (device.taints === undefined) return device;
    const taints = device.taints.map((taint) => ({ ...taint, timeAdded: taint.timeAdded ?? formatTime(nowMs) }));
    return { ...device, taints };
  });
  return { ...slice, spec: { ...slice.spec, devices } };
}

export const resourceSliceResource = defineResource<ResourceSlice>({
  type: resourceSlices,
  singular: 'resourceslice',
  schema: ResourceSliceSchema,
  storagePath: 'resourceslices',
  rules: {
    applyDefaults: (slice) => slice,
    prepareForCreate: prepare,
    prepareForUpdate: (slice, _old, request) => prepare(slice, request),
    validate: validateResourceSlice,
    validateName: checkDnsSubdomain,
    validateUpdate: validateResourceSliceUpdate,
    warnings: ({ spec: { driver } }) =>
      driver === driver.toLowerCase()
        ? []
        : [`spec.driver: driver names should be lowercase; "${driver}" contains uppercase characters`],
    returnsDeleted: true,
  },
  countsGeneration: true,
  selectableFields: ({ spec: { nodeName = '', driver } }) => ({ 'spec.nodeName': nodeName, 'spec.driver': driver }),
  columns: [
    {
      name: 'Node',
      type: 'string',
      description: 'The node with the devices.',
      cell: ({ spec }) => spec.nodeName ?? '',
    },
    { name: 'Driver', type: 'string', description: 'The driver of the devices.', cell: ({ spec }) => spec.driver },
    { name: 'Pool', type: 'string', description: 'The pool of the devices.', cell: ({ spec }) => spec.pool.name },
  ],
});
