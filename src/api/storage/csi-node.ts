/** CSINode of storage.k8s.io/v1: which CSI drivers a node has. Which fields exist follows k8s.io/api/storage/v1. */
import { array, int32, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from '../core/meta.ts';

export const VolumeNodeResourcesSchema = object('VolumeNodeResources', {
  /** How many volumes of the driver the node takes. */
  count: int32,
});
export type VolumeNodeResources = Infer<typeof VolumeNodeResourcesSchema>;

export const CSINodeDriverSchema = object('CSINodeDriver', {
  name: required(string),
  nodeID: required(string),
  topologyKeys: required(array(string)),
  allocatable: VolumeNodeResourcesSchema,
});
export type CSINodeDriver = Infer<typeof CSINodeDriverSchema>;

export const CSINodeSpecSchema = object('CSINodeSpec', {
  drivers: required(array(CSINodeDriverSchema, ['name'])),
});
export type CSINodeSpec = Infer<typeof CSINodeSpecSchema>;

/** Not in any namespace; its name is the node's. */
export const CSINodeSchema = object('CSINode', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(CSINodeSpecSchema),
});
export type CSINode = Infer<typeof CSINodeSchema>;

export const CSINodeListSchema = object('CSINodeList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(CSINodeSchema)),
});
export type CSINodeList = Infer<typeof CSINodeListSchema>;
