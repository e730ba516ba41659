import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { bindingDocs, policyDocs } from './policy-parts.docs.ts';
import {
  AuditAnnotationSchema,
  ExpressionWarningSchema,
  TypeCheckingSchema,
  ValidatingAdmissionPolicyBindingSchema,
  ValidatingAdmissionPolicyBindingSpecSchema,
  ValidatingAdmissionPolicySchema,
  ValidatingAdmissionPolicySpecSchema,
  ValidatingAdmissionPolicyStatusSchema,
  ValidationSchema,
} from './validating-admission-policy.ts';

export const docs: readonly TypeDocs[] = [
  describe(ValidationSchema, 'A rule of a policy.', {
    expression: 'A CEL expression that must be true for the request to be accepted.',
    message: 'The error message when the expression is false.',
    reason: 'The reason of the refusal: Unauthorized, Forbidden, Invalid or RequestEntityTooLarge. Default Invalid.',
    messageExpression: 'A CEL expression that gives the message; it takes precedence over message.',
  }),
  describe(AuditAnnotationSchema, 'An annotation of the audit event.', {
    key: 'The key, behind the name of the policy and a slash.',
    valueExpression: 'A CEL expression that gives the value: a string, or null for no annotation.',
  }),
  describe(ValidatingAdmissionPolicySpecSchema, 'The rules of a policy.', {
    ...policyDocs,
    validations: 'The rules. All of them must be true.',
    auditAnnotations: 'Annotations of the audit event.',
  }),
  describe(ExpressionWarningSchema, 'A warning about an expression.', {
    fieldRef: 'The field with the expression.',
    warning: 'The findings of the type checker for each kind to which the policy applies.',
  }),
  describe(TypeCheckingSchema, 'The findings of the type checker.', { expressionWarnings: 'The findings.' }),
  describe(ValidatingAdmissionPolicyStatusSchema, 'The observed state of a policy.', {
    observedGeneration: 'The generation of the policy that was checked.',
    typeChecking: 'The findings of the type checker. Absent until it has run.',
    conditions: 'The conditions of the policy.',
  }),
  describe(
    ValidatingAdmissionPolicySchema,
    'Accepts or refuses requests by CEL expressions, where a binding says so.',
    {
      spec: 'The rules.',
      status: 'The observed state of the policy.',
    },
  ),
  describe(ValidatingAdmissionPolicyBindingSpecSchema, 'Where and how a policy is enforced.', {
    ...bindingDocs,
    validationActions: 'What happens when a rule is false: Deny, Warn, Audit.',
  }),
  describe(ValidatingAdmissionPolicyBindingSchema, 'Enforces a ValidatingAdmissionPolicy.', {
    spec: 'The policy, the requests to which it applies, and the actions.',
  }),
];
