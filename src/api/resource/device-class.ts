/** DeviceClass of resource.k8s.io/v1. The fields follow k8s.io/api/resource/v1. */
import { array, field, filled, inline, object, pointer, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';
import { DeviceSelectorSchema, deviceConfigurationFields } from './device-config.ts';

export const DeviceClassConfigurationSchema = object('DeviceClassConfiguration', {
  ...inline(1, deviceConfigurationFields),
});
export type DeviceClassConfiguration = Infer<typeof DeviceClassConfigurationSchema>;

export const DeviceClassSpecSchema = object('DeviceClassSpec', {
  selectors: field(1, array(DeviceSelectorSchema)),
  config: field(2, array(DeviceClassConfigurationSchema)),
  extendedResourceName: pointer(4, string),
});
export type DeviceClassSpec = Infer<typeof DeviceClassSpecSchema>;

/** Cluster-scoped. */
export const DeviceClassSchema = object('DeviceClass', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: required(2, DeviceClassSpecSchema),
});
export type DeviceClass = Infer<typeof DeviceClassSchema>;
