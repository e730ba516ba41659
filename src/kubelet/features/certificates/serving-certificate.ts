import type { ApiClient } from '../../../api/client/api-client.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { Issue } from './certificate-manager.ts';
import { newKey } from './client-certificate.ts';
import type { CertificateNamesWanted } from './decide-rotation.ts';
import { requestCertificate } from './request-certificate.ts';

const PATIENCE_MS = 15 * 60_000;

export interface NodeAddress {
  readonly type: string;
  readonly address: string;
}

/**
 * Returns the names of a serving certificate, or undefined before the node has an IP address or, with `dnsOnly`, a DNS
 * name (upstream: newGetTemplateFn, gate AllowDNSOnlyNodeCSR). The names are sorted, so that the same addresses give
 * the same request.
 */
export function servingNames(
  nodeName: string,
  addresses: readonly NodeAddress[],
  { dnsOnly } = { dnsOnly: false },
): CertificateNamesWanted | undefined {
  const isIp = (address: string): boolean => address.includes(':') || /^\d+\.\d+\.\d+\.\d+$/.test(address);
  const [dnsNames, ipAddresses] = [new Set<string>(), new Set<string>()];
  for (const { type, address } of addresses) {
    if (address === '') continue;
    if (isIp(address)) {
      if (type === 'Hostname' || type === 'InternalIP' || type === 'ExternalIP') ipAddresses.add(address);
    } else if (type === 'Hostname' || type === 'InternalDNS' || type === 'ExternalDNS') dnsNames.add(address);
  }
  if (ipAddresses.size === 0 && !(dnsOnly && dnsNames.size > 0)) return undefined;
  return {
    commonName: `system:node:${nodeName}`,
    organizations: ['system:nodes'],
    dnsNames: [...dnsNames].sort(),
    ipAddresses: [...ipAddresses].sort(),
  };
}

/** Obtains a serving certificate by a request to its signer. An approver must approve the request. */
export function issueServingCertificate({
  client,
  clock,
  random,
  log,
}: {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}): Issue {
  return async (names, _current, signal) => {
    const key = newKey();
    const outcome = await requestCertificate(
      { signerName: 'kubernetes.io/kubelet-serving', names, key, isNamed: false },
      { client, clock, random, log, patienceMs: PATIENCE_MS, signal },
    );
    return outcome.kind === 'issued' ? { ...outcome, key } : outcome;
  };
}
