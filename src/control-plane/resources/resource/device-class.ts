import { deviceClasses } from '../../../api/client/resource-types.ts';
import type { DeviceClass } from '../../../api/resource/device-class.ts';
import { DeviceClassSchema } from '../../../api/resource/device-class.ts';
import { validateDeviceClass } from '../../../api/validation/devices/validate-device-class.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { defineResource } from '../define-resource.ts';

export const deviceClassResource = defineResource<DeviceClass>({
  type: deviceClasses,
  singular: 'deviceclass',
  schema: DeviceClassSchema,
  storagePath: 'deviceclasses',
  rules: {
    applyDefaults: (deviceClass) => deviceClass,
    validate: validateDeviceClass,
    validateName: checkDnsSubdomain,
    validateUpdate: validateDeviceClass,
    returnsDeleted: true,
  },
  countsGeneration: true,
  columns: [],
});
