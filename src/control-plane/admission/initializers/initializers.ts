import { initializerConfigurations, pods } from '../../../api/client/resource-types.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { initializersOf, withInitializers } from '../../../api/core/initializers.ts';
import type { Initializers } from '../../../api/core/initializers.ts';
import { isMirrorPod } from '../../../api/pod.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../model/admission.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { Authorizer } from '../../model/user-info.ts';
import { isAbout, refusal } from '../attributes.ts';
import { findInitializers } from './find-initializers.ts';

/**
 * New objects stay pending until their initializers have acted; meanwhile only users with the verb `initialize` may
 * write them. Upstream, until 1.13: Initializers.
 */
export function createInitializers(reader: ObjectReader, authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'Initializers',
    handles: ({ operation, definition }) =>
      definition.isInitialized === true && (operation === 'CREATE' || operation === 'UPDATE'),
    async mutate(attributes) {
      const { object, oldObject, operation } = attributes;
      if (object === undefined) throw new TypeError('a create or an update has no object');
      if (operation === 'CREATE')
        return attributes.subresource === '' ? created(reader, authorizer, attributes, object) : object;
      return oldObject === undefined ? object : updated(authorizer, attributes, object, oldObject);
    },
  };
}

const isEmpty = ({ pending = [], result }: Initializers): boolean => pending.length === 0 && result === undefined;

const having = (object: ApiObject, value: Initializers | undefined): ApiObject => {
  const metadata = withInitializers(object.metadata, value);
  return metadata === object.metadata ? object : { ...object, metadata };
};

async function created(
  reader: ObjectReader,
  authorizer: Authorizer,
  attributes: AdmissionAttributes,
  object: ApiObject,
): Promise<ApiObject> {
  const given = initializersOf(object.metadata);
  if (given !== undefined) {
    await requireRight(authorizer, attributes, 'create with initializers denied');
    return isEmpty(given) ? having(object, undefined) : object;
  }
  // Mirror pods already run: the node created them from its own manifests.
  if (isAbout(attributes, pods) && isMirrorPod(object as Pod)) return object;
  const configured = reader
    .list(initializerConfigurations, '')
    .filter(({ metadata }) => initializersOf(metadata) === undefined);
  const names = findInitializers(configured, attributes.definition.type);
  return names.length === 0 ? object : having(object, { pending: names.map((name) => ({ name })) });
}

async function updated(
  authorizer: Authorizer,
  attributes: AdmissionAttributes,
  object: ApiObject,
  old: ApiObject,
): Promise<ApiObject> {
  const before = initializersOf(old.metadata);
  // The right to write a subresource does not include initializing the object.
  if (attributes.subresource !== '') return having(object, before);
  const given = initializersOf(object.metadata);
  const now = given !== undefined && isEmpty(given) ? undefined : given;
  if (before !== undefined) await requireRight(authorizer, attributes, 'update to uninitialized resource denied');
  return having(object, now);
}

async function requireRight(authorizer: Authorizer, attributes: AdmissionAttributes, message: string): Promise<void> {
  const { group: apiGroup, version: apiVersion, plural: resource } = attributes.definition.type;
  const { user } = attributes.context;
  const { namespace, name, subresource } = attributes;
  const asked = { user, resourceRequest: true, apiGroup, apiVersion, resource, subresource, namespace, name, path: '' };
  const { decision, reason } = await authorizer.authorize({ ...asked, verb: 'initialize' });
  if (decision !== 'allow') throw refusal(attributes, `${message}: ${reason}`);
}
