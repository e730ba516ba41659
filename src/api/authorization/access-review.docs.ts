import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  FieldSelectorRequirementSchema,
  FieldSelectorAttributesSchema,
  LabelSelectorAttributesSchema,
  ResourceAttributesSchema,
  NonResourceAttributesSchema,
  SubjectAccessReviewSpecSchema,
  SubjectAccessReviewStatusSchema,
} from './access-review.ts';

export const docs: readonly TypeDocs[] = [
  describe(FieldSelectorRequirementSchema, 'A condition on one field.', {
    key: 'The path of the field.',
    operator: 'In, NotIn, Exists or DoesNotExist. Others may be added later.',
    values: 'The values for In and NotIn; empty for the other operators.',
  }),
  describe(FieldSelectorAttributesSchema, 'The field selector of a request: rawSelector or requirements, not both.', {
    rawSelector: 'The selector as text.',
    requirements: 'The selector as a list of conditions, all of which must be met.',
  }),
  describe(LabelSelectorAttributesSchema, 'The label selector of a request: rawSelector or requirements, not both.', {
    rawSelector: 'The selector as text.',
    requirements: 'The selector as a list of conditions, all of which must be met.',
  }),
  describe(ResourceAttributesSchema, 'A request for a resource.', {
    namespace: 'The namespace of the request. Empty: all namespaces, or a cluster-scoped resource.',
    verb: 'The verb: get, list, watch, create, update, patch, delete, proxy and the like; * for all.',
    group: 'The API group; * for all.',
    version: 'The API version; * for all.',
    resource: 'The resource, such as pods; * for all.',
    subresource: 'The subresource, such as log. Empty: the resource itself.',
    name: 'The name of the object. Empty: all objects.',
    fieldSelector: 'The field selector of the request, for list, watch and deletecollection.',
    labelSelector: 'The label selector of the request, for list, watch and deletecollection.',
  }),
  describe(NonResourceAttributesSchema, 'A request for a path that is not a resource.', {
    path: 'The path.',
    verb: 'The verb: the HTTP method in lower case.',
  }),
  describe(SubjectAccessReviewSpecSchema, 'The request to check. Either resourceAttributes or nonResourceAttributes.', {
    resourceAttributes: 'The request, if it is for a resource.',
    nonResourceAttributes: 'The request, if it is for a path that is not a resource.',
    user: 'The user. At least one of user and groups is required.',
    groups: 'The groups of the user.',
    extra: 'Other attributes of the user from the authenticator.',
    uid: 'The id of the user.',
  }),
  describe(SubjectAccessReviewStatusSchema, 'The result of the check.', {
    allowed: 'Whether the request is allowed.',
    denied: 'Whether the request is denied even if another authorizer would allow it.',
    reason: 'Why the request is allowed or denied.',
    evaluationError: 'An error during the check. The result may still be valid.',
  }),
];
