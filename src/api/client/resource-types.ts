/** One constant per kind: what code passes to an `ApiClient` to say which kind it means. In the order of groups, then names. */
import type { ConfigMap } from '../core/config-map.ts';
import type { Node } from '../core/node.ts';
import type { PersistentVolume } from '../core/persistent-volume.ts';
import type { PersistentVolumeClaim } from '../core/persistent-volume-claim.ts';
import type { Pod } from '../core/pod.ts';
import type { Secret } from '../core/secret.ts';
import type { Service } from '../core/service.ts';
import type { RuntimeClass } from '../node/runtime-class.ts';
import type { CSIDriver } from '../storage/csi-driver.ts';
import type { ResourceType } from './resource-type.ts';

export const configMaps: ResourceType<ConfigMap> = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true };
export const nodes: ResourceType<Node> = { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false };
export const persistentVolumes: ResourceType<PersistentVolume> = { group: '', version: 'v1', kind: 'PersistentVolume', plural: 'persistentvolumes', namespaced: false };
export const persistentVolumeClaims: ResourceType<PersistentVolumeClaim> = { group: '', version: 'v1', kind: 'PersistentVolumeClaim', plural: 'persistentvolumeclaims', namespaced: true };
export const pods: ResourceType<Pod> = { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true };
export const secrets: ResourceType<Secret> = { group: '', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true };
export const services: ResourceType<Service> = { group: '', version: 'v1', kind: 'Service', plural: 'services', namespaced: true };
export const runtimeClasses: ResourceType<RuntimeClass> = { group: 'node.k8s.io', version: 'v1', kind: 'RuntimeClass', plural: 'runtimeclasses', namespaced: false };
export const csiDrivers: ResourceType<CSIDriver> = { group: 'storage.k8s.io', version: 'v1', kind: 'CSIDriver', plural: 'csidrivers', namespaced: false };
