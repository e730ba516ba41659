import type { AuthorizationAttributes, UserInfo } from '../user-info.ts';

/** The attributes for whether the user may get pods, with the changes of a test. */
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
