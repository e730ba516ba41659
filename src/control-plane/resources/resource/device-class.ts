import { deviceClasses } from '../../../api/client/resource-types.ts';
import type { DeviceClass } from '../../../api/resource/device-class.ts';
import { DeviceClassSchema } from '../../../api/resource/device-class.ts';
import { validateDeviceClass } from '../../../api/validation/devices/validate-device-class.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { defineResource } from '../define-resource.ts';
import { checkDeviceSelectors } from './device-expressions.ts';

export const deviceClassResource = defineResource<DeviceClass>({
  type: deviceClasses,
  singular: 'deviceclass',
  schema: DeviceClassSchema,
  storagePath: 'deviceclasses',
  rules: {
    applyDefaults: (deviceClass) => deviceClass,
    validate: (deviceClass) => [
      ...validateDeviceClass(deviceClass),
      ...checkDeviceSelectors([['spec.selectors', deviceClass.spec.selectors]]),
    ],
    validateName: checkDnsSubdomain,
    validateUpdate: (deviceClass, old) => [
      ...validateDeviceClass(deviceClass),
      ...checkDeviceSelectors([['spec.selectors', deviceClass.spec.selectors]], [['', old.spec.selectors]]),
    ],
    returnsDeleted: true,
  },
  countsGeneration: true,
  columns: [],
});
