import type {
  MutatingAdmissionPolicy,
  MutatingAdmissionPolicyBinding,
} from '../../../api/admissionregistration/mutating-admission-policy.ts';
import {
  MutatingAdmissionPolicyBindingSchema,
  MutatingAdmissionPolicySchema,
} from '../../../api/admissionregistration/mutating-admission-policy.ts';
import { mutatingAdmissionPolicies, mutatingAdmissionPolicyBindings } from '../../../api/client/resource-types.ts';
import { defaultAdmissionPolicy, defaultPolicyBinding } from '../../../api/defaults/default-admission-policies.ts';
import {
  validateMutatingAdmissionPolicy,
  validateMutatingPolicyBinding,
} from '../../../api/validation/access/validate-admission-policies.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { createPolicyChecks } from '../../cel/policy-checks.ts';
import { defineResource } from '../define-resource.ts';
import { ageColumn } from '../print-cells.ts';
import { bindingColumns, shownParamKind } from './policy-columns.ts';
import { webhookCategories } from './webhook-columns.ts';

const validate = (policy: MutatingAdmissionPolicy) =>
  validateMutatingAdmissionPolicy(policy, createPolicyChecks(policy.spec));

export const mutatingAdmissionPolicyResource = defineResource<MutatingAdmissionPolicy>({
  type: mutatingAdmissionPolicies,
  singular: 'mutatingadmissionpolicy',
  categories: webhookCategories,
  schema: MutatingAdmissionPolicySchema,
  storagePath: 'mutatingadmissionpolicies',
  rules: {
    applyDefaults: defaultAdmissionPolicy,
    validate,
    validateName: checkDnsSubdomain,
    anyFinalizer: true,
    validateUpdate: validate,
    requiresResourceVersion: true,
  },
  countsGeneration: true,
  columns: [
    {
      name: 'Mutations',
      type: 'integer',
      description: 'How many changes it makes.',
      cell: ({ spec }) => spec.mutations?.length ?? 0,
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

export const mutatingAdmissionPolicyBindingResource = defineResource<MutatingAdmissionPolicyBinding>({
  type: mutatingAdmissionPolicyBindings,
  singular: 'mutatingadmissionpolicybinding',
  categories: webhookCategories,
  schema: MutatingAdmissionPolicyBindingSchema,
  storagePath: 'mutatingadmissionpolicybindings',
  rules: {
    applyDefaults: defaultPolicyBinding,
    validate: validateMutatingPolicyBinding,
    validateName: checkDnsSubdomain,
    anyFinalizer: true,
    validateUpdate: validateMutatingPolicyBinding,
    requiresResourceVersion: true,
  },
  countsGeneration: true,
  columns: bindingColumns,
});
