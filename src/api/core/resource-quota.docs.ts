import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  ScopedResourceSelectorRequirementSchema,
  ScopeSelectorSchema,
  ResourceQuotaSpecSchema,
  ResourceQuotaStatusSchema,
  ResourceQuotaSchema,
} from './resource-quota.ts';

export const docs: readonly TypeDocs[] = [
  describe(ScopedResourceSelectorRequirementSchema, 'A condition on the scope of objects.', {
    scopeName: 'The scope.',
    operator: 'In, NotIn, Exists or DoesNotExist.',
    values: 'The values for In and NotIn; empty for the other operators.',
  }),
  describe(ScopeSelectorSchema, 'Selects the objects that a quota counts.', {
    matchExpressions: 'Conditions that must all be met.',
  }),
  describe(ResourceQuotaSpecSchema, 'The limits of a quota.', {
    hard: 'The maximum of each resource.',
    scopes: 'Scopes of the counted objects; all must match.',
    scopeSelector: 'Scopes of the counted objects, with conditions.',
  }),
  describe(ResourceQuotaStatusSchema, 'The limits and the current usage.', {
    hard: 'The maximum of each resource.',
    used: 'The current usage of each resource.',
  }),
  describe(ResourceQuotaSchema, 'Limits the resources that all objects of a namespace may use together.', {}),
];
