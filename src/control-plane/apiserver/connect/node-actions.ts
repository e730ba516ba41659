import { decodePart, plainPath } from '../../../base/request-head.ts';

/** The paths of a kubelet that run commands in containers or open connections into pods, in lower case. */
const actions: ReadonlySet<string> = new Set(['run', 'exec', 'attach', 'portforward']);

/**
 * Whether a request through a node's proxy requires the permission to create, whatever its method (k8s.io issue 136550:
 * the GET of a WebSocket reads nothing). `path` is the forwarded path, as sent. An upgrade always requires it, as on
 * the kubelet's own port: the result is a raw connection, and a kubelet upgrades only commands and port forwarding.
 */
export function isNodeAction(path: string, isUpgrade: boolean): boolean {
  if (isUpgrade) return true;
  const decoded = decodePart(path);
  if (decoded === undefined) return true;
  const parts = decoded.toLowerCase().split(/[/\\]/);
  // A path that parsers could interpret differently may begin with any of its parts.
  return plainPath({ rawPath: path, search: '' }) === undefined
    ? parts.some((part) => actions.has(part))
    : actions.has(parts[1] ?? '');
}
