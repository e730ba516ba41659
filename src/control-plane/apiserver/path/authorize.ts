import { forbiddenRequest } from '../../model/forbidden-request.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer, UserInfo } from '../../model/user-info.ts';
import type { RequestInfo } from './request-info.ts';

export function attributesOf(user: UserInfo, info: RequestInfo): AuthorizationAttributes {
  const {
    verb,
    resourceRequest,
    group,
    version,
    resource,
    subresource,
    namespace,
    name,
    path,
    fieldSelector,
    labelSelector,
  } = info;
  return {
    user,
    verb,
    resourceRequest,
    apiGroup: group,
    apiVersion: version,
    resource,
    subresource,
    namespace,
    name,
    path,
    ...(fieldSelector !== undefined && { fieldSelector }),
    ...(labelSelector !== undefined && { labelSelector }),
  };
}

/**
 * Authorizes a request. Most authorizers decide synchronously, so that a request does not wait a turn of the event
 * loop.
 */
export async function authorize(
  authorizer: Authorizer,
  attributes: AuthorizationAttributes,
): Promise<AuthorizationDecision> {
  const answer = authorizer.authorize(attributes);
  return answer instanceof Promise ? await answer : answer;
}

/** Throws Forbidden unless the request is allowed. No opinion means denied. */
export async function requireAllowed(authorizer: Authorizer, attributes: AuthorizationAttributes): Promise<void> {
  const decided = await authorize(authorizer, attributes);
  if (decided.decision !== 'allow') throw forbiddenRequest(attributes, decided);
}
