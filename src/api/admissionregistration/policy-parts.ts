/**
 * What the admission policies of admissionregistration.k8s.io/v1 share. The fields follow
 * k8s.io/api/admissionregistration/v1.
 */
import {
  array,
  atomic,
  field,
  inline,
  knownValues,
  object,
  oneOf,
  pointer,
  required,
  string,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { LabelSelectorSchema } from '../core/meta.ts';
import { RuleWithOperationsSchema } from './webhook.ts';

export const ParamKindSchema = atomic(
  object('ParamKind', {
    apiVersion: field(1, string),
    kind: field(2, string),
  }),
);
export type ParamKind = Infer<typeof ParamKindSchema>;

export const NamedRuleWithOperationsSchema = atomic(
  object('NamedRuleWithOperations', {
    resourceNames: field(1, array(string)),
    ...inline(2, RuleWithOperationsSchema.fields),
  }),
);
export type NamedRuleWithOperations = Infer<typeof NamedRuleWithOperationsSchema>;

export const MatchResourcesSchema = atomic(
  object('MatchResources', {
    namespaceSelector: field(1, LabelSelectorSchema),
    objectSelector: field(2, LabelSelectorSchema),
    resourceRules: field(3, array(NamedRuleWithOperationsSchema)),
    excludeResourceRules: field(4, array(NamedRuleWithOperationsSchema)),
    matchPolicy: pointer(7, oneOf('Exact', 'Equivalent')),
  }),
);
export type MatchResources = Infer<typeof MatchResourcesSchema>;

export const VariableSchema = atomic(
  object('Variable', {
    name: required(1, string),
    expression: required(2, string),
  }),
);
export type Variable = Infer<typeof VariableSchema>;

export const ParamRefSchema = atomic(
  object('ParamRef', {
    name: field(1, string),
    namespace: field(2, string),
    selector: field(3, LabelSelectorSchema),
    parameterNotFoundAction: pointer(4, knownValues('Allow', 'Deny')),
  }),
);
export type ParamRef = Infer<typeof ParamRefSchema>;
