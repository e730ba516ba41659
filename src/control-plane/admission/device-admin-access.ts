import { namespaces, resourceClaims, resourceClaimTemplates } from '../../api/client/resource-types.ts';
import { ADMIN_ACCESS_LABEL } from '../../api/resource/device-config.ts';
import type { ResourceClaimSpec } from '../../api/resource/resource-claim.ts';
import { invalid } from '../../api/status/api-status-error.ts';
import { FieldErrors } from '../../api/validation/field-error.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../model/admission.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import { isAbout, objectOf } from './attributes.ts';

const WHY = `admin access to devices requires the \`${ADMIN_ACCESS_LABEL}: true\` label on the containing namespace`;

/**
 * Refuses admin access unless an administrator has labelled the namespace, because it reaches devices of other pods. No
 * flag turns this check off (upstream: registry/resource/resourceclaim and resourceclaimtemplate, AuthorizedForAdmin).
 */
export function createDeviceAdminAccess(reader: ObjectReader): AdmissionPlugin {
  return {
    name: 'DeviceAdminAccess',
    handles: (attributes) =>
      (attributes.operation === 'CREATE' && isAbout(attributes, resourceClaims)) ||
      (attributes.operation === 'CREATE' && isAbout(attributes, resourceClaimTemplates)) ||
      isAbout(attributes, resourceClaims, 'status'),
    validate(attributes) {
      const fields = fieldsWithAdminAccess(attributes);
      if (fields.length === 0) return;
      const labels = reader.get(namespaces, { namespace: '', name: attributes.namespace })?.metadata.labels ?? {};
      if (labels[ADMIN_ACCESS_LABEL] === 'true') return;
      const errors = new FieldErrors();
      for (const field of fields) errors.forbidden(field, WHY);
      throw invalid(attributes.definition.type, attributes.name, errors.list);
    },
  };
}

function fieldsWithAdminAccess(attributes: AdmissionAttributes): readonly string[] {
  if (isAbout(attributes, resourceClaimTemplates))
    return fieldsOfRequests(objectOf(attributes, resourceClaimTemplates).spec.spec, 'spec.spec');
  const { spec, status } = objectOf(attributes, resourceClaims);
  if (isAbout(attributes, resourceClaims)) return fieldsOfRequests(spec, 'spec');
  return (status?.allocation?.devices.results ?? []).flatMap(({ adminAccess }, index) =>
    adminAccess === true ? [`status.allocation.devices.results[${index}].adminAccess`] : [],
  );
}

function fieldsOfRequests(spec: ResourceClaimSpec, path: string): readonly string[] {
  return (spec.devices?.requests ?? []).flatMap(({ exactly }, index) =>
    exactly?.adminAccess === true ? [`${path}.devices.requests[${index}].exactly.adminAccess`] : [],
  );
}
