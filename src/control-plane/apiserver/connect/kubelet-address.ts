import type { Node } from '../../../api/core/node.ts';
import { internalError } from '../../../api/status/api-status-error.ts';

const defaultAddressTypes = ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP'] as const;
const DEFAULT_PORT = 10_250;

export interface KubeletAddress {
  readonly host: string;
  readonly port: number;
}

/** Returns the address of a node's kubelet, from the node's status. */
export function kubeletAddressOf(node: Node, preferredTypes: readonly string[] = defaultAddressTypes): KubeletAddress {
  const addresses = node.status?.addresses ?? [];
  const port = node.status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
  for (const type of preferredTypes) {
    const found = addresses.find((address) => address.type === type);
    if (found?.address !== undefined && found.address !== '')
      return { host: found.address, port: port > 0 ? port : DEFAULT_PORT };
  }
  throw internalError(
    new Error(
      `no preferred addresses found; known addresses: [${addresses.map((each) => `{${each.type} ${each.address}}`).join(' ')}]`,
    ),
  );
}
