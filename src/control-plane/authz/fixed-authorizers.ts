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

/** Upstream's has no opinion either, so that it can stand before others; alone it refuses all. */
export const alwaysDeny: Authorizer = {
  name: 'AlwaysDeny',
  authorize: () => ({ decision: 'noOpinion', reason: 'Everything is forbidden.' }),
  rulesFor: () => Promise.resolve({ resourceRules: [], nonResourceRules: [], incomplete: false }),
};

/**
 * Stands before all that are configured: who is in the group can always repair the cluster, and the server itself does
 * not depend on rules.
 */
export const systemMasters: Authorizer = {
  name: 'system:masters',
  authorize: ({ user }) => ({ decision: user.groups.includes('system:masters') ? 'allow' : 'noOpinion', reason: '' }),
};
