import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { IngressClassParametersReferenceSchema, IngressClassSchema, IngressClassSpecSchema } from './ingress-class.ts';

export const docs: readonly TypeDocs[] = [
  describe(IngressClassParametersReferenceSchema, 'An object with further settings of a class.', {
    apiGroup: 'The group of the object. Absent: the core group.',
    kind: 'The kind of the object.',
    name: 'The name of the object.',
    scope: 'Cluster or Namespace: whether the object has a namespace. Default Cluster.',
    namespace: 'The namespace of the object. Set exactly if scope is Namespace.',
  }),
  describe(IngressClassSpecSchema, 'The controller of a class.', {
    controller:
      'The controller that implements Ingresses of this class, as a path with a domain: `acme.io/ingress-controller`. At most 250 characters; it cannot change.',
    parameters: 'An object with further settings for the controller.',
  }),
  describe(
    IngressClassSchema,
    'A class of Ingresses. The annotation `ingressclass.kubernetes.io/is-default-class` with the value `true` makes it the class of Ingresses that name none.',
    {},
  ),
];
