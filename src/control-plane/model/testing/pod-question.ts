import type { AuthorizationAttributes, UserInfo } from '../user-info.ts';

/** The question whether the user may get pods, with whatever else a test wants to ask. */
export function podQuestion(user: UserInfo, changes: Partial<AuthorizationAttributes> = {}): AuthorizationAttributes {
  return {
    user,
    verb: 'get',
    resourceRequest: true,
    apiGroup: '',
    apiVersion: 'v1',
    resource: 'pods',
    subresource: '',
    namespace: '',
    name: '',
    path: '',
    ...changes,
  };
}
