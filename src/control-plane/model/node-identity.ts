import type { UserInfo } from './user-info.ts';

const PREFIX = 'system:node:';

/** The node name of the user; '' for a node without a name, `undefined` for other users (upstream: nodeidentifier). */
export function nodeNameOf({ name, groups }: UserInfo): string | undefined {
  return name.startsWith(PREFIX) && groups.includes('system:nodes') ? name.slice(PREFIX.length) : undefined;
}
