/** CSINode of storage.k8s.io/v1: which CSI drivers a node has. The fields follow k8s.io/api/storage/v1. */
import { array, field, filled, int32, object, pointer, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

export const VolumeNodeResourcesSchema = object('VolumeNodeResources', {
  /** The limit for volumes of the driver on the node. */
  count: pointer(1, int32),
});
export type VolumeNodeResources = Infer<typeof VolumeNodeResourcesSchema>;

export const CSINodeDriverSchema = object('CSINodeDriver', {
  name: required(1, string),
  nodeID: required(2, string),
  topologyKeys: filled(3, array(string)),
  allocatable: field(4, VolumeNodeResourcesSchema),
});
export type CSINodeDriver = Infer<typeof CSINodeDriverSchema>;

export const CSINodeSpecSchema = object('CSINodeSpec', {
  drivers: required(1, array(CSINodeDriverSchema, ['name'])),
});
export type CSINodeSpec = Infer<typeof CSINodeSpecSchema>;

/** Cluster-scoped; it has the node's name. */
export const CSINodeSchema = object('CSINode', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: required(2, CSINodeSpecSchema),
});
export type CSINode = Infer<typeof CSINodeSchema>;
