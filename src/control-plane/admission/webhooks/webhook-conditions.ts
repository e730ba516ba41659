import { internalError } from '../../../api/status/api-status-error.ts';
import { MATCH_CONDITIONS_BUDGET } from '../../cel/limits.ts';
import { policyEnvironment } from '../../cel/policy-environment.ts';
import type { AdmissionAttributes } from '../../model/admission.ts';
import { matchConditions } from '../policies/match-conditions.ts';
import type { RequestVariableParts } from '../policies/policy-variables.ts';
import { PolicyEvaluation, RequestVariables } from '../policies/policy-variables.ts';
import type { Prepared } from '../policies/prepared.ts';
import { prepareConditions } from '../policies/prepared.ts';
import type { Webhook } from './match-webhook.ts';

/** Whether the conditions of a webhook are true. An error counts by the failure policy: it is thrown, or the webhook is not called. */
export type ConditionCheck = (webhook: Webhook, attributes: AdmissionAttributes) => Promise<boolean>;

export function createConditionCheck(parts: RequestVariableParts): ConditionCheck {
  const compiled = new WeakMap<Webhook, readonly Prepared[]>();
  const environment = policyEnvironment({ hasParams: false, hasAuthorizer: true });
  const noVariables = new Map();
  return async (webhook, attributes) => {
    const conditions = webhook.matchConditions ?? [];
    if (conditions.length === 0) return true;
    const prepared = compiled.get(webhook) ?? prepareConditions(conditions, environment);
    compiled.set(webhook, prepared);
    const request = new RequestVariables(attributes, parts);
    const result = await matchConditions(
      prepared,
      new PolicyEvaluation(request, noVariables, noVariables, MATCH_CONDITIONS_BUDGET),
    );
    if (typeof result === 'boolean') return result;
    if (webhook.failurePolicy === 'Ignore') return false;
    throw internalError(result.error);
  };
}
