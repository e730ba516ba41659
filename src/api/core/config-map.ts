/** ConfigMap and ConfigMapList of core/v1. Which fields exist follows k8s.io/api/core/v1. */
import { array, boolean, bytes, map, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from './meta.ts';

export const ConfigMapSchema = object('ConfigMap', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  immutable: boolean,
  data: map(string),
  binaryData: map(bytes),
});
export type ConfigMap = Infer<typeof ConfigMapSchema>;

export const ConfigMapListSchema = object('ConfigMapList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(ConfigMapSchema)),
});
export type ConfigMapList = Infer<typeof ConfigMapListSchema>;
