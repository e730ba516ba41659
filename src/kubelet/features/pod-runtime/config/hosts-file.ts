import type { HostAlias } from '../../../../api/core/pod-spec.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import { goQuote } from '../../../../api/go-quote.ts';
import { checkDnsLabel, checkDnsSubdomain } from '../../../../api/validation/names.ts';
import { KubeletError } from '../../../../base/errors.ts';

const MAX_HOSTNAME = 63;
const MAX_FQDN = 64;

/**
 * Returns the short host name and the domain of a pod (upstream: kubelet_pods.go GeneratePodHostNameAndDomain). Throws
 * `Invalid`.
 */
function podHostname(pod: Pod, clusterDomain: string): { hostname: string; domain: string } {
  const { hostname, subdomain: sub, hostnameOverride } = pod.spec;
  if (hostnameOverride !== undefined) {
    demand(
      checkDnsSubdomain(hostnameOverride),
      `pod HostnameOverride ${goQuote(hostnameOverride)} is not a valid DNS subdomain`,
    );
    return { hostname: truncate(pod, hostnameOverride), domain: '' };
  }
  if (hostname !== undefined && hostname !== '')
    demand(checkDnsLabel(hostname), `pod Hostname ${goQuote(hostname)} is not a valid DNS label`);
  if (sub !== undefined && sub !== '')
    demand(checkDnsLabel(sub), `pod Subdomain ${goQuote(sub)} is not a valid DNS label`);
  const domain = sub === undefined || sub === '' ? '' : `${sub}.${pod.metadata.namespace}.svc.${clusterDomain}`;
  return { hostname: truncate(pod, hostname === undefined || hostname === '' ? pod.metadata.name : hostname), domain };
}

function demand(complaints: readonly string[], message: string): void {
  if (complaints.length > 0) throw new KubeletError('Invalid', `${message}: ${complaints.join(';')}`);
}

function truncate(pod: Pod, hostname: string): string {
  if (hostname.length <= MAX_HOSTNAME) return hostname;
  const cut = hostname.slice(0, MAX_HOSTNAME).replace(/(?<![-.])[-.]+$/, '');
  if (cut === '')
    throw new KubeletError(
      'Invalid',
      `hostname for pod ${goQuote(pod.metadata.name)} was invalid: ${goQuote(hostname)}`,
    );
  return cut;
}

/**
 * Returns the host name for the kernel, which is the full name if the pod requests it (upstream: kubelet/util
 * GetNodenameForKernel). Throws `Invalid`.
 */
export function kernelHostname(pod: Pod, clusterDomain: string): string {
  const { hostname, domain } = podHostname(pod, clusterDomain);
  if (domain === '' || pod.spec.setHostnameAsFQDN !== true) return hostname;
  const fqdn = `${hostname}.${domain}`;
  if (fqdn.length <= MAX_FQDN) return fqdn;
  throw new KubeletError(
    'Invalid',
    `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long (${MAX_FQDN} characters is the max, ${fqdn.length} characters requested)`,
  );
}

/** Builds the /etc/hosts of a pod with its own network. The header is upstream's, because tools search for it. */
export function managedHostsContent(pod: Pod, podIps: readonly string[], clusterDomain: string): string {
  const { hostname, domain } = podHostname(pod, clusterDomain);
  const names = domain === '' ? hostname : `${hostname}.${domain}\t${hostname}`;
  return (
    [
      '# Kubernetes-managed hosts file.',
      '127.0.0.1\tlocalhost',
      '::1\tlocalhost ip6-localhost ip6-loopback',
      'fe00::0\tip6-localnet',
      'fe00::0\tip6-mcastprefix',
      'fe00::1\tip6-allnodes',
      'fe00::2\tip6-allrouters',
      ...podIps.map((ip) => `${ip}\t${names}`),
      '',
    ].join('\n') + aliasLines(pod.spec.hostAliases)
  );
}

/** Builds the /etc/hosts of a pod on the host's network: the node's own file with the pod's aliases. */
export function hostNetworkHostsContent(pod: Pod, nodeHosts: string): string {
  return `# Kubernetes-managed hosts file (host network).\n${nodeHosts}${aliasLines(pod.spec.hostAliases)}`;
}

function aliasLines(aliases: readonly HostAlias[] | undefined): string {
  if (aliases === undefined || aliases.length === 0) return '';
  const lines = aliases.map(({ ip, hostnames = [] }) => `${ip}\t${hostnames.join('\t')}\n`);
  return `\n# Entries added by HostAliases.\n${lines.join('')}`;
}
