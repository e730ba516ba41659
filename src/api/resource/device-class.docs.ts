import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { DeviceClassConfigurationSchema, DeviceClassSchema, DeviceClassSpecSchema } from './device-class.ts';

export const docs: readonly TypeDocs[] = [
  describe(DeviceClassConfigurationSchema, 'Configuration that a class adds to all claims of its devices.', {
    opaque: 'Parameters for a driver.',
  }),
  describe(DeviceClassSpecSchema, 'Which devices belong to a class and how they are configured.', {
    selectors: 'Selectors that a device of the class must match. Empty: all devices. At most 32.',
    config: 'Configuration for the drivers of the devices. At most 32.',
    extendedResourceName:
      'The extended resource by which containers may request devices of this class in `resources.requests`, such as example.com/gpu. Every class can also be requested as deviceclass.resource.kubernetes.io/<name>.',
  }),
  describe(DeviceClassSchema, 'A kind of devices that claims can request, set up by the administrator.', {}),
];
