import { KubeletError } from '../base/errors.ts';

/**
 * Returns the socket path of a runtime endpoint: `unix:///run/x.sock`, `unix:/run/x.sock`, or a path (deprecated
 * upstream, but still accepted). Fails with `Invalid` for any other endpoint, as the kubelet does on Linux (upstream:
 * cri-client pkg/util/util_unix.go).
 */
export function parseEndpoint(endpoint: string): string {
  const path = endpoint.replace(/^unix:(?:\/\/(?=\/)|(?=\/(?!\/)))/, '');
  if (!path.startsWith('/')) {
    throw new KubeletError(
      'Invalid',
      `runtime endpoint ${JSON.stringify(endpoint)} is not a unix socket: want unix:///path`,
    );
  }
  return path;
}
