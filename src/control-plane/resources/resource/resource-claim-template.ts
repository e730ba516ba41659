import { resourceClaimTemplates } from '../../../api/client/resource-types.ts';
import { defaultResourceClaimTemplate } from '../../../api/defaults/default-resource.ts';
import type { ResourceClaimTemplate } from '../../../api/resource/resource-claim-template.ts';
import { ResourceClaimTemplateSchema } from '../../../api/resource/resource-claim-template.ts';
import {
  validateResourceClaimTemplate,
  validateResourceClaimTemplateUpdate,
} from '../../../api/validation/devices/validate-resource-claim.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { defineResource } from '../define-resource.ts';
import { checkDeviceSelectors, selectorsOfClaim } from './device-expressions.ts';

export const resourceClaimTemplateResource = defineResource<ResourceClaimTemplate>({
  type: resourceClaimTemplates,
  singular: 'resourceclaimtemplate',
  schema: ResourceClaimTemplateSchema,
  storagePath: 'resourceclaimtemplates',
  rules: {
    applyDefaults: defaultResourceClaimTemplate,
    validate: (template) => [
      ...validateResourceClaimTemplate(template),
      ...checkDeviceSelectors(selectorsOfClaim('spec.spec.devices', template.spec.spec.devices)),
    ],
    validateName: checkDnsSubdomain,
    validateUpdate: validateResourceClaimTemplateUpdate,
    returnsDeleted: true,
  },
  columns: [],
});
