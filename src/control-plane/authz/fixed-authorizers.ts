import type { Authorizer, UserRules } from '../model/user-info.ts';

const everything: UserRules = {
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], resourceNames: [] }],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  incomplete: false,
};

export const alwaysAllow: Authorizer = {
  name: 'AlwaysAllow',
  authorize: () => ({ decision: 'allow', reason: '' }),
  rulesFor: () => Promise.resolve(everything),
};

/** As in upstream it has no opinion, so that it can be combined with others. Alone it denies all requests. */
export const alwaysDeny: Authorizer = {
  name: 'AlwaysDeny',
  authorize: () => ({ decision: 'noOpinion', reason: 'Everything is forbidden.' }),
  rulesFor: () => Promise.resolve({ resourceRules: [], nonResourceRules: [], incomplete: false }),
};

/**
 * Allows everything to the group system:masters. It runs before all configured authorizers, so that members of the
 * group can always repair the cluster, and the server itself does not depend on rules.
 */
export const systemMasters: Authorizer = {
  name: 'system:masters',
  authorize: ({ user }) => ({ decision: user.groups.includes('system:masters') ? 'allow' : 'noOpinion', reason: '' }),
};
