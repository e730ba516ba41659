import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  ApplyConfigurationSchema,
  JSONPatchSchema,
  MutatingAdmissionPolicyBindingSchema,
  MutatingAdmissionPolicyBindingSpecSchema,
  MutatingAdmissionPolicySchema,
  MutatingAdmissionPolicySpecSchema,
  MutationSchema,
} from './mutating-admission-policy.ts';
import { bindingDocs, policyDocs } from './policy-parts.docs.ts';

export const docs: readonly TypeDocs[] = [
  describe(ApplyConfigurationSchema, 'A change that is merged as server-side apply merges.', {
    expression: 'A CEL expression that gives the apply configuration: Object{...}.',
  }),
  describe(JSONPatchSchema, 'A change as a JSON patch.', {
    expression: 'A CEL expression that gives the operations: [JSONPatch{op: ..., path: ..., value: ...}].',
  }),
  describe(MutationSchema, 'A change of a policy.', {
    patchType: 'ApplyConfiguration or JSONPatch.',
    applyConfiguration: 'The change, for ApplyConfiguration.',
    jsonPatch: 'The change, for JSONPatch.',
  }),
  describe(MutatingAdmissionPolicySpecSchema, 'The changes of a policy.', {
    ...policyDocs,
    mutations: 'The changes, made in this order.',
    reinvocationPolicy:
      'IfNeeded evaluates the policy again when other admission plugins changed the object after it; Never does not.',
  }),
  describe(MutatingAdmissionPolicySchema, 'Changes objects by CEL expressions, where a binding says so.', {
    spec: 'The changes.',
  }),
  describe(MutatingAdmissionPolicyBindingSpecSchema, 'Where a policy is in effect.', bindingDocs),
  describe(MutatingAdmissionPolicyBindingSchema, 'Puts a MutatingAdmissionPolicy into effect.', {
    spec: 'The policy, and the requests to which it applies.',
  }),
];
