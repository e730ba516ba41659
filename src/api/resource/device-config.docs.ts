import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  CELDeviceSelectorSchema,
  DeviceSelectorSchema,
  DeviceTaintSchema,
  DeviceTolerationSchema,
  OpaqueDeviceConfigurationSchema,
} from './device-config.ts';

export const docs: readonly TypeDocs[] = [
  describe(CELDeviceSelectorSchema, 'Selects devices by an expression in CEL.', {
    expression:
      'An expression in CEL that is true for a suitable device. It sees the variable `device` with `driver`, `attributes` and `capacity`. At most 10 KiB.',
  }),
  describe(DeviceSelectorSchema, 'Selects devices.', { cel: 'An expression in CEL.' }),
  describe(OpaqueDeviceConfigurationSchema, 'Parameters for a driver, which only the driver understands.', {
    driver: 'The name of the driver that reads the parameters.',
    parameters: 'A JSON object for the driver, at most 10 KiB, usually with apiVersion and kind of its own.',
  }),
  describe(DeviceTaintSchema, 'Keeps claims away from a device unless they tolerate the taint.', {
    key: 'The key of the taint, a label name.',
    value: 'The value of the taint, a label value.',
    effect:
      'What happens to claims that do not tolerate the taint: NoSchedule, they do not get the device; NoExecute, pods that use it are evicted as well; None, nothing.',
    timeAdded: 'When the taint was added. Default: the time of the request.',
  }),
  describe(DeviceTolerationSchema, 'Lets a request get devices with matching taints.', {
    key: 'The key of the taint. Empty means all keys; the operator must be Exists then.',
    operator: 'How key and value are compared: Exists matches any value. Default Equal.',
    value: 'The value of the taint. Empty when the operator is Exists.',
    effect: 'The effect of the taint. Empty means all effects.',
    tolerationSeconds:
      'For NoExecute: how many seconds the taint is tolerated. Default: without limit. Zero and negative values evict at once.',
  }),
];
