import { array, object, string } from '../../../api/schema/schema.ts';
import type { Infer } from '../../../api/schema/schema.ts';
import { ScopedResourceSelectorRequirementSchema } from '../../../api/core/resource-quota.ts';
import { readConfig } from '../configuration/admission-configuration.ts';
import type { LimitedResource } from './charge-quotas.ts';

/** ResourceQuotaConfiguration of apiserver.config.k8s.io/v1: resources that may be used only if a quota covers them. */
const ResourceQuotaConfigurationSchema = object('ResourceQuotaConfiguration', {
  kind: string,
  apiVersion: string,
  limitedResources: array(
    object('LimitedResource', {
      apiGroup: string,
      resource: string,
      matchContains: array(string),
      matchScopes: array(ScopedResourceSelectorRequirementSchema),
    }),
  ),
});
const kind = {
  kind: 'ResourceQuotaConfiguration',
  apiVersions: [
    'apiserver.config.k8s.io/v1',
    'resourcequota.admission.k8s.io/v1beta1',
    'resourcequota.admission.k8s.io/v1alpha1',
  ],
};

/** The limited resources, or their error. */
export function readResourceQuotaConfiguration(document: unknown): readonly LimitedResource[] | string {
  const read = readConfig<Infer<typeof ResourceQuotaConfigurationSchema>>(
    ResourceQuotaConfigurationSchema,
    document,
    kind,
  );
  if (typeof read === 'string') return read;
  const limited = (read.limitedResources ?? []).map(
    ({ apiGroup = '', resource = '', matchContains = [], matchScopes = [] }) => ({
      apiGroup,
      resource,
      matchContains,
      matchScopes,
    }),
  );
  const unnamed = limited.findIndex(({ resource }) => resource === '');
  return unnamed < 0 ? limited : `limitedResources[${unnamed}].resource: Required value`;
}
