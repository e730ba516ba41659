/**
 * MutatingAdmissionPolicy and its binding, of admissionregistration.k8s.io/v1. The fields follow
 * k8s.io/api/admissionregistration/v1.
 */
import { array, field, filled, object, oneOf, pointer, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';
import { MatchResourcesSchema, ParamKindSchema, ParamRefSchema, VariableSchema } from './policy-parts.ts';
import { MatchConditionSchema } from './webhook.ts';

export const ApplyConfigurationSchema = object('ApplyConfiguration', { expression: field(1, string) });
export const JSONPatchSchema = object('JSONPatch', { expression: field(1, string) });

export const MutationSchema = object('Mutation', {
  patchType: required(2, oneOf('ApplyConfiguration', 'JSONPatch')),
  applyConfiguration: field(3, ApplyConfigurationSchema),
  jsonPatch: field(4, JSONPatchSchema),
});
export type Mutation = Infer<typeof MutationSchema>;

export const MutatingAdmissionPolicySpecSchema = object('MutatingAdmissionPolicySpec', {
  paramKind: field(1, ParamKindSchema),
  matchConstraints: field(2, MatchResourcesSchema),
  variables: field(3, array(VariableSchema)),
  mutations: field(4, array(MutationSchema)),
  failurePolicy: pointer(5, oneOf('Fail', 'Ignore')),
  matchConditions: field(6, array(MatchConditionSchema, ['name'])),
  reinvocationPolicy: field(7, oneOf('Never', 'IfNeeded')),
});
export type MutatingAdmissionPolicySpec = Infer<typeof MutatingAdmissionPolicySpecSchema>;

/** Cluster-scoped. */
export const MutatingAdmissionPolicySchema = object('MutatingAdmissionPolicy', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, MutatingAdmissionPolicySpecSchema),
});
export type MutatingAdmissionPolicy = Infer<typeof MutatingAdmissionPolicySchema>;

export const MutatingAdmissionPolicyBindingSpecSchema = object('MutatingAdmissionPolicyBindingSpec', {
  policyName: field(1, string),
  paramRef: field(2, ParamRefSchema),
  matchResources: field(3, MatchResourcesSchema),
});

/** Cluster-scoped. */
export const MutatingAdmissionPolicyBindingSchema = object('MutatingAdmissionPolicyBinding', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, MutatingAdmissionPolicyBindingSpecSchema),
});
export type MutatingAdmissionPolicyBinding = Infer<typeof MutatingAdmissionPolicyBindingSchema>;
