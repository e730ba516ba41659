import type {
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '../../../api/admissionregistration/validating-admission-policy.ts';
import {
  ValidatingAdmissionPolicyBindingSchema,
  ValidatingAdmissionPolicySchema,
} from '../../../api/admissionregistration/validating-admission-policy.ts';
import { validatingAdmissionPolicies, validatingAdmissionPolicyBindings } from '../../../api/client/resource-types.ts';
import { defaultAdmissionPolicy, defaultPolicyBinding } from '../../../api/defaults/default-admission-policies.ts';
import {
  validateAdmissionPolicyStatus,
  validateValidatingAdmissionPolicy,
  validateValidatingPolicyBinding,
} from '../../../api/validation/access/validate-admission-policies.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { createPolicyChecks } from '../../cel/policy-checks.ts';
import { defineResource } from '../define-resource.ts';
import { ageColumn } from '../print-cells.ts';
import { webhookCategories } from './webhook-columns.ts';
import { bindingColumns, shownParamKind } from './policy-columns.ts';

const validate = (policy: ValidatingAdmissionPolicy) =>
  validateValidatingAdmissionPolicy(policy, createPolicyChecks(policy.spec));

export const validatingAdmissionPolicyResource = defineResource<ValidatingAdmissionPolicy>({
  type: validatingAdmissionPolicies,
  singular: 'validatingadmissionpolicy',
  categories: webhookCategories,
  schema: ValidatingAdmissionPolicySchema,
  storagePath: 'validatingadmissionpolicies',
  rules: {
    applyDefaults: defaultAdmissionPolicy,
    prepareForCreate: (policy) => ({ ...policy, status: {} }),
    validate,
    validateName: checkDnsSubdomain,
    anyFinalizer: true,
    validateUpdate: validate,
    validateStatusUpdate: validateAdmissionPolicyStatus,
    requiresResourceVersion: true,
  },
  hasStatus: true,
  resetFields: { status: ['metadata', 'spec'] },
  countsGeneration: true,
  columns: [
    {
      name: 'Validations',
      type: 'integer',
      description: 'How many rules it has.',
      cell: ({ spec }) => spec.validations?.length ?? 0,
    },
    {
      name: 'ParamKind',
      type: 'string',
      description: 'The kind of its parameters.',
      cell: ({ spec }) => shownParamKind(spec),
    },
    ageColumn,
  ],
});

export const validatingAdmissionPolicyBindingResource = defineResource<ValidatingAdmissionPolicyBinding>({
  type: validatingAdmissionPolicyBindings,
  singular: 'validatingadmissionpolicybinding',
  categories: webhookCategories,
  schema: ValidatingAdmissionPolicyBindingSchema,
  storagePath: 'validatingadmissionpolicybindings',
  rules: {
    applyDefaults: defaultPolicyBinding,
    validate: validateValidatingPolicyBinding,
    validateName: checkDnsSubdomain,
    anyFinalizer: true,
    validateUpdate: validateValidatingPolicyBinding,
    requiresResourceVersion: true,
  },
  countsGeneration: true,
  columns: bindingColumns,
});
