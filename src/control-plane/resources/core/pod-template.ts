import type { PodTemplate } from '../../../api/core/pod-template.ts';
import { PodTemplateSchema } from '../../../api/core/pod-template.ts';
import { podTemplates } from '../../../api/client/resource-types.ts';
import { defaultStoredPodTemplate } from '../../../api/defaults/default-replication-controller.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { podTemplateWarnings } from '../../../api/validation/pod/pod-template.ts';
import { validateStoredPodTemplate } from '../../../api/validation/workloads/validate-replication-controller.ts';
import { defineResource } from '../define-resource.ts';
import { formatLabels, joinImages, joinNames } from '../print-cells.ts';

export const podTemplateResource = defineResource<PodTemplate>({
  type: podTemplates,
  singular: 'podtemplate',
  schema: PodTemplateSchema,
  storagePath: 'podtemplates',
  rules: {
    applyDefaults: defaultStoredPodTemplate,
    validate: (object, policy) => validateStoredPodTemplate(object, undefined, policy),
    validateName: checkDnsSubdomain,
    validateUpdate: validateStoredPodTemplate,
    warnings: (object, old) =>
      old !== undefined && object.metadata.generation === old.metadata.generation
        ? []
        : podTemplateWarnings('template', object.template),
  },
  countsGeneration: true,
  hasNoAge: true,
  columns: [
    {
      name: 'Containers',
      type: 'string',
      description: 'Names of the containers of each pod.',
      cell: ({ template }) => joinNames(template),
    },
    {
      name: 'Images',
      type: 'string',
      description: 'Images of the containers of each pod.',
      cell: ({ template }) => joinImages(template),
    },
    {
      name: 'Pod Labels',
      type: 'string',
      description: 'Labels of the pods.',
      cell: ({ template }) => formatLabels(template.metadata.labels),
    },
  ],
});
