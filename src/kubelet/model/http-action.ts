import type { Container } from '../../api/core/container.ts';
import type { HTTPGetAction } from '../../api/core/probe.ts';
import { KubeletError } from '../../base/errors.ts';

/** The version in the User-Agent of probes. */
const PROBE_VERSION = '1.36';

/**
 * Returns the port of a probe or hook as a number. A name is searched for among the container's ports. If no port has
 * it, the name is parsed as a number. Throws `Invalid` if neither gives a port (upstream: probe/util.go
 * ResolveContainerPort).
 */
export function resolvePort(port: number | string, container: Pick<Container, 'ports'>): number {
  const number =
    typeof port === 'number'
      ? port
      : (container.ports?.find((each) => each.name === port)?.containerPort ??
        (/^\d+$/.test(port) ? Number(port) : undefined));
  if (number === undefined) throw new KubeletError('Invalid', `port ${port} not found`);
  if (number < 1 || number > 65535) throw new KubeletError('Invalid', `invalid port number: ${number}`);
  return number;
}

/**
 * Builds the request of an httpGet probe (`purpose` "probe") or hook ("lifecycle"), without its deadline. A User-Agent
 * and an Accept header are added unless the pod sets its own. An empty Accept removes the header (upstream:
 * probe/http/request.go).
 */
export function httpActionRequest(
  action: HTTPGetAction,
  container: Pick<Container, 'ports'>,
  target: { podIp: string; purpose: 'probe' | 'lifecycle' },
): { scheme: 'http' | 'https'; host: string; port: number; path: string; headers: { name: string; value: string }[] } {
  const given = action.httpHeaders ?? [];
  const has = (name: string): boolean => given.some((header) => header.name.toLowerCase() === name);
  const acceptIsEmpty = given.find((header) => header.name.toLowerCase() === 'accept')?.value === '';
  const headers = given
    .filter((header) => !(acceptIsEmpty && header.name.toLowerCase() === 'accept'))
    .map(({ name, value }) => ({ name, value }));
  if (!has('user-agent')) headers.push({ name: 'User-Agent', value: `kube-${target.purpose}/${PROBE_VERSION}` });
  if (!has('accept')) headers.push({ name: 'Accept', value: '*/*' });
  return {
    scheme: action.scheme === 'HTTPS' ? 'https' : 'http',
    host: action.host === undefined || action.host === '' ? target.podIp : action.host,
    port: resolvePort(action.port, container),
    path: action.path ?? '',
    headers,
  };
}
