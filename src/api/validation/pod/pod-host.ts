import type { Pod } from '../../core/pod.ts';
import type { HostAlias, PodDNSConfig, PodSpec } from '../../core/pod-spec.ts';
import { allContainers } from '../../pod.ts';
import type { AnyContainer } from '../../pod.ts';
import type { FieldErrors } from '../field-error.ts';
import {
  byteLength,
  checkDnsLabel,
  checkDnsSubdomain,
  checkDnsSubdomainWithUnderscore,
  checkStrictIp,
} from '../names.ts';
import type { PodValidationContext } from './pod-validation-context.ts';

const MAX_NAMESERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_CHARACTERS = 2048;
const MAX_HOSTNAME_BYTES = 64;

export function validateHostnames(errors: FieldErrors, path: string, spec: PodSpec): void {
  if (spec.hostname) errors.invalidEach(`${path}.hostname`, spec.hostname, checkDnsLabel(spec.hostname));
  if (spec.subdomain) errors.invalidEach(`${path}.subdomain`, spec.subdomain, checkDnsLabel(spec.subdomain));
}

/** Validates entries for the pod's /etc/hosts. */
export function validateHostAliases(errors: FieldErrors, path: string, aliases: readonly HostAlias[]): void {
  for (const [index, alias] of aliases.entries()) {
    errors.invalidEach(`${path}[${index}].ip`, alias.ip, checkStrictIp(alias.ip));
    for (const [position, name] of (alias.hostnames ?? []).entries())
      errors.invalidEach(`${path}[${index}].hostnames[${position}]`, name, checkDnsSubdomain(name));
  }
}

/** Validates DNS settings: at most three servers and 32 search domains, which are the limits of resolvers. */
export function validateDns(
  errors: FieldErrors,
  path: string,
  config: PodDNSConfig | undefined,
  policy: string | undefined,
): void {
  if (policy === 'None') {
    if (config === undefined) return errors.required(path, 'must provide `dnsConfig` when `dnsPolicy` is None');
    if ((config.nameservers ?? []).length === 0)
      return errors.required(
        `${path}.nameservers`,
        'must provide at least one DNS nameserver when `dnsPolicy` is None',
      );
  }
  const { nameservers = [], searches = [], options = [] } = config ?? {};
  if (nameservers.length > MAX_NAMESERVERS)
    errors.invalid(`${path}.nameservers`, nameservers, `must not have more than ${MAX_NAMESERVERS} nameservers`);
  for (const [index, server] of nameservers.entries())
    errors.invalidEach(`${path}.nameservers[${index}]`, server, checkStrictIp(server));
  if (searches.length > MAX_SEARCHES)
    errors.invalid(`${path}.searches`, searches, `must not have more than ${MAX_SEARCHES} search paths`);
  if (byteLength(searches.join(' ')) > MAX_SEARCH_CHARACTERS) {
    errors.invalid(
      `${path}.searches`,
      searches,
      `must not have more than ${MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list`,
    );
  }
  for (const [index, search] of searches.entries()) {
    const domain = search.endsWith('.') ? search.slice(0, -1) : search;
    if (search !== '.')
      errors.invalidEach(`${path}.searches[${index}]`, domain, checkDnsSubdomainWithUnderscore(domain));
  }
  for (const [index, option] of options.entries())
    if (!option.name) errors.required(`${path}.options[${index}]`, 'must not be empty');
}

export function validateHostnameOverride(errors: FieldErrors, field: string, spec: PodSpec): void {
  const { hostnameOverride } = spec;
  if (hostnameOverride === undefined) return;
  if (spec.setHostnameAsFQDN === true) errors.forbidden(field, 'may not be specified when setHostnameAsFQDN is true');
  if (spec.hostNetwork === true) errors.forbidden(field, 'may not be specified when hostNetwork is true');
  if (byteLength(hostnameOverride) > MAX_HOSTNAME_BYTES) errors.tooLong(field, MAX_HOSTNAME_BYTES);
  errors.invalidEach(field, hostnameOverride, checkDnsSubdomain(hostnameOverride));
}

/**
 * A pod with a user namespace must not share the host's namespaces. The capitals in two of the paths are upstream's.
 */
export function validateHostUsers(errors: FieldErrors, path: string, pod: Pod, context: PodValidationContext): void {
  const { spec } = pod;
  if (spec.hostUsers !== false) return;
  const message = 'when `hostUsers` is false';
  if (spec.hostNetwork === true && !context.hadBefore('userNamespaceOnHostNetwork'))
    errors.forbidden(`${path}.hostNetwork`, message);
  if (spec.hostPID === true) errors.forbidden(`${path}.HostPID`, message);
  if (spec.hostIPC === true) errors.forbidden(`${path}.HostIPC`, message);
  if (context.hadBefore('userNamespaceWithDevices')) return;
  for (const { container, path: at } of allContainers(pod))
    if (hasDevices(container)) errors.forbidden(`${at}.volumeDevices`, message);
}

const hasDevices = ({ volumeDevices = [] }: AnyContainer): boolean => volumeDevices.length > 0;

/** Upstream: hasUserNamespacesWithVolumeDevices. */
export function usesDevicesWithOwnUsers(pod: Pod): boolean {
  return pod.spec.hostUsers === false && [...allContainers(pod)].some(({ container }) => hasDevices(container));
}
