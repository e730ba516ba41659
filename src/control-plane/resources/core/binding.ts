import { bindings, pods } from '../../../api/client/resource-types.ts';
import type { Binding } from '../../../api/core/binding.ts';
import { BindingSchema } from '../../../api/core/binding.ts';
import { defineResource } from '../define-resource.ts';
import { reviewRules } from '../review-rules.ts';
import { podBinding } from './pod/pod-binding.ts';

/** Creating a Binding binds the pod of the same name to a node (upstream: LegacyBindingREST). */
export const bindingResource = defineResource<Binding>({
  type: bindings,
  verbs: ['create'],
  rules: reviewRules,
  singular: 'binding',
  schema: BindingSchema,
  storagePath: 'bindings',
  review: (binding, access) => access.act(pods, binding.metadata.name, podBinding.name, binding),
});
