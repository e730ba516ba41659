import { goAggregate } from '../../api/go-aggregate.ts';
import type { AuthorizationDecision, Authorizer, UserRules } from '../model/user-info.ts';

/**
 * Calls the authorizers in order; the first that allows or denies decides. If none does, all reasons are returned, one
 * per line.
 */
export function unionAuthorizer(authorizers: readonly Authorizer[]): Authorizer {
  return {
    name: 'union',
    authorize: async (attributes) => {
      const reasons: string[] = [];
      const errors: string[] = [];
      for (const authorizer of authorizers) {
        const answer = authorizer.authorize(attributes);
        // Most decide synchronously, so that a request does not wait a turn of the event loop for each.
        const decided: AuthorizationDecision = answer instanceof Promise ? await answer : answer;
        if (decided.decision !== 'noOpinion') return decided;
        if (decided.reason !== '') reasons.push(decided.reason);
        if (decided.evaluationError !== undefined) errors.push(decided.evaluationError);
      }
      return {
        decision: 'noOpinion',
        reason: reasons.join('\n'),
        ...(errors.length > 0 && { evaluationError: goAggregate(errors) }),
      };
    },
    rulesFor: async (user, namespace) => {
      const all = await Promise.all(authorizers.flatMap((authorizer) => authorizer.rulesFor?.(user, namespace) ?? []));
      return mergeRules(all);
    },
  };
}

function mergeRules(all: readonly UserRules[]): UserRules {
  const errors = all.flatMap(({ evaluationError }) => evaluationError ?? []);
  return {
    resourceRules: all.flatMap(({ resourceRules }) => resourceRules),
    nonResourceRules: all.flatMap(({ nonResourceRules }) => nonResourceRules),
    incomplete: all.some(({ incomplete }) => incomplete),
    ...(errors.length > 0 && { evaluationError: goAggregate(errors) }),
  };
}
