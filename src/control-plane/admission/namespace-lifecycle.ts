import type { ApiObject } from '../../api/client/resource-type.ts';
import { namespaces } from '../../api/client/resource-types.ts';
import { ApiStatusError, notFound } from '../../api/status/api-status-error.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../model/admission.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import { isAbout, refusal } from './attributes.ts';

/** The namespaces that cannot be deleted. */
const undeletable = ['default', 'kube-system', 'kube-public'];

/**
 * Refuses to create objects in a namespace that is missing or terminating, and to delete certain namespaces. `refresh`
 * resolves when the reader has seen all earlier writes, because another server may have just created the namespace.
 * Upstream: NamespaceLifecycle.
 */
export function createNamespaceLifecycle(reader: ObjectReader, refresh: () => Promise<void>): AdmissionPlugin {
  return {
    name: 'NamespaceLifecycle',
    handles: ({ operation }) => operation !== 'CONNECT',
    // This plugin changes nothing. As in upstream, it runs before the mutating plugins, because they need the
    // namespace.
    mutate(attributes) {
      if (check(reader, attributes) === 'checked') return attributes.object as ApiObject;
      return refresh().then(() => {
        if (check(reader, attributes) === 'unknown namespace') throw notFound(namespaces, attributes.namespace);
        return attributes.object as ApiObject;
      });
    },
  };
}

function check(reader: ObjectReader, attributes: AdmissionAttributes): 'checked' | 'unknown namespace' {
  const { operation, definition, namespace, name } = attributes;
  if (isAbout(attributes, namespaces)) {
    if (operation === 'DELETE' && undeletable.includes(name))
      throw refusal(attributes, 'this namespace may not be deleted');
    return 'checked';
  }
  // Access reviews are answered even if the namespace does not exist.
  const leaks = definition.type.plural === 'localsubjectaccessreviews';
  if (namespace === '' || operation === 'DELETE' || leaks || isAbout(attributes, namespaces, attributes.subresource))
    return 'checked';
  const found = reader.get(namespaces, { namespace: '', name: namespace });
  if (found === undefined) return 'unknown namespace';
  if (operation !== 'CREATE' || found.status?.phase !== 'Terminating') return 'checked';
  const { reason, message, details } = refusal(
    attributes,
    `unable to create new content in namespace ${namespace} because it is being terminated`,
  );
  const causes = [
    {
      reason: 'NamespaceTerminating',
      message: `namespace ${namespace} is being terminated`,
      field: 'metadata.namespace',
    },
  ];
  throw new ApiStatusError(reason, message, { ...details, causes });
}
