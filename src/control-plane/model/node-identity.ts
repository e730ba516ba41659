import type { UserInfo } from './user-info.ts';

const PREFIX = 'system:node:';

/**
 * Returns the node name of the user; '' for a node without a name, and undefined for other users (upstream:
 * nodeidentifier).
 */
export function nodeNameOf({ name, groups }: UserInfo): string | undefined {
  return name.startsWith(PREFIX) && groups.includes('system:nodes') ? name.slice(PREFIX.length) : undefined;
}
