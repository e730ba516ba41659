import { namespaces } from '../../api/client/resource-types.ts';
import { notFound } from '../../api/status/api-status-error.ts';
import type { AdmissionPlugin } from '../model/admission.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import { isAbout, refusal } from './attributes.ts';

/** Admits everything. Upstream: AlwaysAdmit (off by default). */
export const alwaysAdmit: AdmissionPlugin = { name: 'AlwaysAdmit', handles: () => false };

/** Refuses everything, for tests of clients. Upstream: AlwaysDeny (off by default). */
export const alwaysDeny: AdmissionPlugin = {
  name: 'AlwaysDeny',
  handles: () => true,
  validate: (attributes) => {
    throw refusal(attributes, 'admission control is denying all modifications');
  },
};

/**
 * Refuses objects in missing namespaces. Upstream: NamespaceExists (off by default, because NamespaceLifecycle checks
 * the same).
 */
export function createNamespaceExists(reader: ObjectReader): AdmissionPlugin {
  return {
    name: 'NamespaceExists',
    handles: (attributes) => attributes.namespace !== '' && !isAbout(attributes, namespaces, attributes.subresource),
    validate: ({ namespace }) => {
      if (reader.get(namespaces, { namespace: '', name: namespace }) === undefined)
        throw notFound(namespaces, namespace);
    },
  };
}
