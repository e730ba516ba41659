import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { IPAddressSchema, IPAddressSpecSchema, ParentReferenceSchema } from './ip-address.ts';

export const docs: readonly TypeDocs[] = [
  describe(ParentReferenceSchema, 'The object that has an address.', {
    group: 'The group of the object. Empty: the core group.',
    resource: 'The resource of the object, such as `services`.',
    namespace: 'The namespace of the object.',
    name: 'The name of the object.',
  }),
  describe(IPAddressSpecSchema, 'Who has an address.', {
    parentRef: 'The object that has the address. It cannot change.',
  }),
  describe(
    IPAddressSchema,
    'An IP address that is allocated. Its name is the address in canonical form. The API server creates one for each cluster IP of a service.',
    {},
  ),
];
