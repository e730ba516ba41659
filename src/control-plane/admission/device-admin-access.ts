import { namespaces, resourceClaims, resourceClaimTemplates } from '../../api/client/resource-types.ts';
import { ADMIN_ACCESS_LABEL } from '../../api/resource/device-config.ts';
import type { ResourceClaim } from '../../api/resource/resource-claim.ts';
import { invalid } from '../../api/status/api-status-error.ts';
import { FieldErrors } from '../../api/validation/field-error.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../model/admission.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import { isAbout, objectOf, oldObjectOf } from './attributes.ts';

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
      (attributes.operation === 'UPDATE' && isAbout(attributes, resourceClaims, 'status')),
    validate(attributes) {
      const field = fieldWithAdminAccess(attributes);
      if (field === undefined) return;
      const labels = reader.get(namespaces, { namespace: '', name: attributes.namespace })?.metadata.labels ?? {};
      if (labels[ADMIN_ACCESS_LABEL] === 'true') return;
      const errors = new FieldErrors();
      errors.forbidden(field, WHY);
      throw invalid(attributes.definition.type, attributes.name, errors.list);
    },
  };
}

/** The first field that requests admin access. An allocation that has it already keeps it, also without the label. */
function fieldWithAdminAccess(attributes: AdmissionAttributes): string | undefined {
  if (isAbout(attributes, resourceClaims, 'status')) {
    const [now, old] = [objectOf(attributes, resourceClaims), oldObjectOf(attributes, resourceClaims)];
    if (allocatedWithAccess(old) >= 0) return undefined;
    return fieldAt('status.allocation.devices.results', allocatedWithAccess(now));
  }
  const { devices } = isAbout(attributes, resourceClaimTemplates)
    ? objectOf(attributes, resourceClaimTemplates).spec.spec
    : objectOf(attributes, resourceClaims).spec;
  // The path is upstream's, for templates too.
  return fieldAt(
    'spec.devices.requests',
    (devices.requests ?? []).findIndex(({ exactly }) => exactly?.adminAccess === true),
  );
}

const allocatedWithAccess = ({ status }: ResourceClaim): number =>
  (status?.allocation?.devices.results ?? []).findIndex(({ adminAccess }) => adminAccess === true);

const fieldAt = (path: string, index: number): string | undefined =>
  index < 0 ? undefined : `${path}[${index}].adminAccess`;
