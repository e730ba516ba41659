import { forbidden } from '../../../api/status/api-status-error.ts';
import type { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { goQuote } from '../../../api/go-quote.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer, UserInfo } from '../../model/user-info.ts';
import type { RequestInfo } from './request-info.ts';

export function attributesOf(user: UserInfo, info: RequestInfo): AuthorizationAttributes {
  const { verb, resourceRequest, group, version, resource, subresource, namespace, name, path, fieldSelector, labelSelector } = info;
  return {
    user, verb, resourceRequest, apiGroup: group, apiVersion: version, resource, subresource, namespace, name, path,
    ...(fieldSelector !== undefined && { fieldSelector }), ...(labelSelector !== undefined && { labelSelector }),
  };
}

/** The first that has an opinion decides; none is a no. */
export async function authorize(authorizers: readonly Authorizer[], attributes: AuthorizationAttributes): Promise<AuthorizationDecision> {
  const reasons: string[] = [];
  for (const authorizer of authorizers) {
    const answer = authorizer.authorize(attributes);
    const decided = answer instanceof Promise ? await answer : answer;
    if (decided.decision !== 'noOpinion') return decided;
    if (decided.reason !== '') reasons.push(decided.reason);
    if (decided.evaluationError !== undefined) reasons.push(decided.evaluationError);
  }
  return { decision: 'noOpinion', reason: reasons.join('\n') };
}

/** 403 as kubectl shows it: `pods is forbidden: User "x" cannot list resource "pods" in API group "" in the namespace "default"`. */
export function forbiddenError(attributes: AuthorizationAttributes, reason: string): ApiStatusError {
  const { apiGroup, resource, name } = attributes;
  const said = forbiddenMessage(attributes).replace(/[&<>]/g, (sign) => escaped[sign] ?? sign);
  return forbidden({ group: apiGroup, plural: resource }, name, reason === '' ? said : `${said}: ${reason}`);
}

/** The text once went into HTML pages; it is still written so. */
const escaped: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function forbiddenMessage({ user, verb, resourceRequest, path, resource, subresource, apiGroup, namespace }: AuthorizationAttributes): string {
  const who = `User ${goQuote(user.name)} cannot ${verb}`;
  if (!resourceRequest) return `${who} path ${goQuote(path)}`;
  const what = `resource ${goQuote(subresource === '' ? resource : `${resource}/${subresource}`)} in API group ${goQuote(apiGroup)}`;
  return namespace === '' ? `${who} ${what} at the cluster scope` : `${who} ${what} in the namespace ${goQuote(namespace)}`;
}
