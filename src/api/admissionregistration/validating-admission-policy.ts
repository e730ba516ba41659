/**
 * ValidatingAdmissionPolicy and its binding, of admissionregistration.k8s.io/v1. The fields follow
 * k8s.io/api/admissionregistration/v1.
 */
import { array, field, filled, int64, object, oneOf, pointer, required, set, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ConditionSchema } from '../core/condition.ts';
import { ObjectMetaSchema } from '../core/meta.ts';
import { MatchResourcesSchema, ParamKindSchema, ParamRefSchema, VariableSchema } from './policy-parts.ts';
import { MatchConditionSchema } from './webhook.ts';

export const ValidationSchema = object('Validation', {
  expression: required(1, string),
  message: field(2, string),
  reason: pointer(3, string),
  messageExpression: field(4, string),
});
export type Validation = Infer<typeof ValidationSchema>;

export const AuditAnnotationSchema = object('AuditAnnotation', {
  key: required(1, string),
  valueExpression: required(2, string),
});
export type AuditAnnotation = Infer<typeof AuditAnnotationSchema>;

export const ValidatingAdmissionPolicySpecSchema = object('ValidatingAdmissionPolicySpec', {
  paramKind: field(1, ParamKindSchema),
  matchConstraints: field(2, MatchResourcesSchema),
  validations: field(3, array(ValidationSchema)),
  failurePolicy: pointer(4, oneOf('Fail', 'Ignore')),
  auditAnnotations: field(5, array(AuditAnnotationSchema)),
  matchConditions: field(6, array(MatchConditionSchema, ['name'])),
  variables: field(7, array(VariableSchema, ['name'])),
});
export type ValidatingAdmissionPolicySpec = Infer<typeof ValidatingAdmissionPolicySpecSchema>;

export const ExpressionWarningSchema = object('ExpressionWarning', {
  fieldRef: required(2, string),
  warning: required(3, string),
});
export type ExpressionWarning = Infer<typeof ExpressionWarningSchema>;

export const TypeCheckingSchema = object('TypeChecking', {
  expressionWarnings: field(1, array(ExpressionWarningSchema)),
});

export const ValidatingAdmissionPolicyStatusSchema = object('ValidatingAdmissionPolicyStatus', {
  observedGeneration: field(1, int64),
  typeChecking: field(2, TypeCheckingSchema),
  conditions: field(3, array(ConditionSchema, ['type'])),
});
export type ValidatingAdmissionPolicyStatus = Infer<typeof ValidatingAdmissionPolicyStatusSchema>;

/** Cluster-scoped. */
export const ValidatingAdmissionPolicySchema = object('ValidatingAdmissionPolicy', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, ValidatingAdmissionPolicySpecSchema),
  status: filled(3, ValidatingAdmissionPolicyStatusSchema),
});
export type ValidatingAdmissionPolicy = Infer<typeof ValidatingAdmissionPolicySchema>;

const ValidationActionSchema = oneOf('Deny', 'Warn', 'Audit');
export type ValidationAction = Infer<typeof ValidationActionSchema>;

export const ValidatingAdmissionPolicyBindingSpecSchema = object('ValidatingAdmissionPolicyBindingSpec', {
  policyName: field(1, string, { mustBeWritten: true }),
  paramRef: field(2, ParamRefSchema),
  matchResources: field(3, MatchResourcesSchema),
  validationActions: field(4, set(ValidationActionSchema), { mustBeWritten: true }),
});
export type ValidatingAdmissionPolicyBindingSpec = Infer<typeof ValidatingAdmissionPolicyBindingSpecSchema>;

/** Cluster-scoped. */
export const ValidatingAdmissionPolicyBindingSchema = object('ValidatingAdmissionPolicyBinding', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: required(2, ValidatingAdmissionPolicyBindingSpecSchema),
});
export type ValidatingAdmissionPolicyBinding = Infer<typeof ValidatingAdmissionPolicyBindingSchema>;
