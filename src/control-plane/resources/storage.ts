import { csiDrivers, csiNodes, storageClasses, volumeAttachments } from '../../api/client/resource-types.ts';
import { defaultCsiDriver } from '../../api/defaults/default-storage.ts';
import type { CSIDriver } from '../../api/storage/csi-driver.ts';
import { CSIDriverSchema } from '../../api/storage/csi-driver.ts';
import type { CSINode } from '../../api/storage/csi-node.ts';
import { CSINodeSchema } from '../../api/storage/csi-node.ts';
import type { StorageClass } from '../../api/storage/storage-class.ts';
import { StorageClassSchema } from '../../api/storage/storage-class.ts';
import type { VolumeAttachment } from '../../api/storage/volume-attachment.ts';
import { VolumeAttachmentSchema } from '../../api/storage/volume-attachment.ts';
import { semanticEqual } from '../../api/semantic-equal.ts';
import { checkDnsSubdomain } from '../../api/validation/names.ts';
import { validateCsiDriver } from '../../api/validation/volumes/validate-csi-driver.ts';
import {
  validateCsiDriverUpdate,
  validateCsiNode,
  validateCsiNodeUpdate,
  validateStorageClass,
  validateStorageClassUpdate,
  validateVolumeAttachment,
  validateVolumeAttachmentUpdate,
} from '../../api/validation/volumes/validate-storage.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import { defineResource } from './define-resource.ts';

const isDefaultClass = ({ metadata: { annotations = {} } }: StorageClass): boolean =>
  annotations['storageclass.kubernetes.io/is-default-class'] === 'true' ||
  annotations['storageclass.beta.kubernetes.io/is-default-class'] === 'true';

const classDefinition: ResourceDefinition<StorageClass> = {
  type: storageClasses,
  singular: 'storageclass',
  shortNames: ['sc'],
  schema: StorageClassSchema,
  storagePath: 'storageclasses',
  rules: {
    applyDefaults: (storageClass) =>
      storageClass.reclaimPolicy !== undefined && storageClass.volumeBindingMode !== undefined
        ? storageClass
        : {
            ...storageClass,
            reclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
            volumeBindingMode: storageClass.volumeBindingMode ?? 'Immediate',
          },
    validate: validateStorageClass,
    validateName: checkDnsSubdomain,
    validateUpdate: (storageClass, old) => [
      ...validateStorageClass(storageClass),
      ...validateStorageClassUpdate(storageClass, old),
    ],
    returnsDeleted: true,
  },
  columns: [
    {
      name: 'Name',
      type: 'string',
      format: 'name',
      description: 'Its name, and whether claims without a class get it.',
      cell: (storageClass) => `${storageClass.metadata.name}${isDefaultClass(storageClass) ? ' (default)' : ''}`,
    },
    {
      name: 'Provisioner',
      type: 'string',
      description: 'Who makes volumes of it.',
      cell: ({ provisioner }) => provisioner,
    },
    {
      name: 'ReclaimPolicy',
      type: 'string',
      description: 'What happens to volumes when their claim is gone.',
      cell: ({ reclaimPolicy }) => reclaimPolicy ?? 'Delete',
    },
    {
      name: 'VolumeBindingMode',
      type: 'string',
      description: 'When volumes are made and bound.',
      cell: ({ volumeBindingMode }) => volumeBindingMode ?? 'Immediate',
    },
    {
      name: 'AllowVolumeExpansion',
      type: 'string',
      description: 'Whether volumes may grow.',
      cell: ({ allowVolumeExpansion }) => allowVolumeExpansion ?? false,
    },
  ],
};

/** Known, but behind a gate that is off by default (VolumeLimitScaling). */
function dropAlpha(driver: CSIDriver): CSIDriver {
  const { preventPodSchedulingIfMissing, ...spec } = driver.spec;
  return preventPodSchedulingIfMissing === undefined ? driver : { ...driver, spec };
}

const driverDefinition: ResourceDefinition<CSIDriver> = {
  type: csiDrivers,
  singular: 'csidriver',
  schema: CSIDriverSchema,
  storagePath: 'csidrivers',
  rules: {
    applyDefaults: defaultCsiDriver,
    prepareForCreate: dropAlpha,
    prepareForUpdate: dropAlpha,
    validate: validateCsiDriver,
    validateName: checkDnsSubdomain,
    validateUpdate: validateCsiDriverUpdate,
    requiresResourceVersion: true,
    returnsDeleted: true,
  },
  columns: [
    {
      name: 'AttachRequired',
      type: 'boolean',
      description: 'Whether volumes are attached before they are mounted.',
      cell: ({ spec }) => spec.attachRequired ?? true,
    },
    {
      name: 'PodInfoOnMount',
      type: 'boolean',
      description: 'Whether the driver is told about the pod.',
      cell: ({ spec }) => spec.podInfoOnMount ?? false,
    },
    {
      name: 'StorageCapacity',
      type: 'boolean',
      description: 'Whether the scheduler looks at capacity.',
      cell: ({ spec }) => spec.storageCapacity ?? false,
    },
    {
      name: 'TokenRequests',
      type: 'string',
      description: 'For which audiences the driver gets tokens.',
      cell: ({ spec }) => spec.tokenRequests?.map(({ audience }) => audience).join(',') ?? '<unset>',
    },
    {
      name: 'RequiresRepublish',
      type: 'boolean',
      description: 'Whether volumes are published again and again.',
      cell: ({ spec }) => spec.requiresRepublish ?? false,
    },
    {
      name: 'Modes',
      type: 'string',
      description: 'Which volumes the driver serves.',
      cell: ({ spec }) => (spec.volumeLifecycleModes ?? []).join(',') || '<none>',
    },
  ],
  countsGeneration: true,
};

const nodeDefinition: ResourceDefinition<CSINode> = {
  type: csiNodes,
  singular: 'csinode',
  schema: CSINodeSchema,
  storagePath: 'csinodes',
  rules: {
    applyDefaults: (node) => node,
    validate: validateCsiNode,
    validateName: checkDnsSubdomain,
    validateUpdate: validateCsiNodeUpdate,
    requiresResourceVersion: true,
    returnsDeleted: true,
  },
  columns: [
    {
      name: 'Drivers',
      type: 'integer',
      description: 'How many drivers the node has.',
      cell: ({ spec }) => spec.drivers.length,
    },
  ],
};

/** A status that was never written says that nothing is attached. */
const withStatus = (attachment: VolumeAttachment): VolumeAttachment =>
  attachment.status === undefined ? { ...attachment, status: { attached: false } } : attachment;

const attachmentDefinition: ResourceDefinition<VolumeAttachment> = {
  type: volumeAttachments,
  singular: 'volumeattachment',
  schema: VolumeAttachmentSchema,
  storagePath: 'volumeattachments',
  rules: {
    applyDefaults: withStatus,
    validate: validateVolumeAttachment,
    validateName: checkDnsSubdomain,
    validateUpdate: validateVolumeAttachmentUpdate,
    requiresResourceVersion: true,
    prepareForStatusUpdate: (attachment, old) =>
      semanticEqual(attachment.spec, old.spec) ? attachment : { ...attachment, spec: old.spec },
    validateStatusUpdate: validateVolumeAttachmentUpdate,
    returnsDeleted: true,
  },
  columns: [
    {
      name: 'Attacher',
      type: 'string',
      format: 'name',
      description: 'The driver that attaches.',
      cell: ({ spec }) => spec.attacher,
    },
    {
      name: 'PV',
      type: 'string',
      description: 'The volume.',
      cell: ({ spec }) => spec.source.persistentVolumeName ?? '',
    },
    { name: 'Node', type: 'string', description: 'The node it is attached to.', cell: ({ spec }) => spec.nodeName },
    {
      name: 'Attached',
      type: 'boolean',
      description: 'Whether it is attached by now.',
      cell: ({ status }) => status?.attached ?? false,
    },
  ],
  hasStatus: true,
};

export const storageResources: readonly ResourceDefinition[] = [
  defineResource(driverDefinition),
  defineResource(nodeDefinition),
  defineResource(classDefinition),
  defineResource(attachmentDefinition),
];
