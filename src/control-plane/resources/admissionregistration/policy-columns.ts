import type { MutatingAdmissionPolicyBinding } from '../../../api/admissionregistration/mutating-admission-policy.ts';
import type { ParamKind } from '../../../api/admissionregistration/policy-parts.ts';
import type { ValidatingAdmissionPolicyBinding } from '../../../api/admissionregistration/validating-admission-policy.ts';
import type { TableColumn } from '../../model/resource-definition.ts';
import { ageColumn } from '../print-cells.ts';

export const shownParamKind = ({ paramKind }: { readonly paramKind?: ParamKind }): string =>
  paramKind === undefined ? '<unset>' : `${paramKind.apiVersion ?? ''}/${paramKind.kind ?? ''}`;

type Binding = ValidatingAdmissionPolicyBinding | MutatingAdmissionPolicyBinding;

function shownParams({ spec: { paramRef } }: Binding): string {
  if (paramRef === undefined) return '<unset>';
  if (paramRef.name === undefined) return 'selector';
  return paramRef.namespace === undefined ? `*/${paramRef.name}` : `${paramRef.namespace}/${paramRef.name}`;
}

export const bindingColumns: readonly TableColumn<Binding>[] = [
  { name: 'PolicyName', type: 'string', description: 'The policy.', cell: ({ spec }) => spec.policyName ?? '' },
  { name: 'ParamRef', type: 'string', description: 'Its parameters.', cell: shownParams },
  ageColumn,
];
