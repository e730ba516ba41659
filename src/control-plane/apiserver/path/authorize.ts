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

/** Most authorizers know at once, and a request should not wait a turn of the event loop for them. */
export async function authorize(
  authorizer: Authorizer,
  attributes: AuthorizationAttributes,
): Promise<AuthorizationDecision> {
  const answer = authorizer.authorize(attributes);
  return answer instanceof Promise ? await answer : answer;
}

/** Throws Forbidden for what is not allowed; no opinion is a no. */
export async function requireAllowed(authorizer: Authorizer, attributes: AuthorizationAttributes): Promise<void> {
  const decided = await authorize(authorizer, attributes);
  if (decided.decision !== 'allow') throw forbiddenRequest(attributes, decided);
}
