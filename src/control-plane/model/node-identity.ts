import type { UserInfo } from './user-info.ts';

const PREFIX = 'system:node:';

/**
 * The name of the node the user is, '' for a node that does not say which, `undefined` for everybody else (upstream:
 * nodeidentifier).
 */
export function nodeNameOf({ name, groups }: UserInfo): string | undefined {
  return name.startsWith(PREFIX) && groups.includes('system:nodes') ? name.slice(PREFIX.length) : undefined;
}
