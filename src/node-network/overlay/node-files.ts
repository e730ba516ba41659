/**
 * The files that the overlay writes for other programs on the node: flannel's subnet file and the configuration of the
 * CNI plugins.
 */
import type { Family } from './overlay-node.ts';
import { addressIn } from './overlay-node.ts';

export interface NodeNetworkFacts {
  /** The ranges of all pods. */
  readonly networks: Readonly<Partial<Record<Family, string>>>;
  /** The ranges of this node's pods. */
  readonly ranges: Readonly<Partial<Record<Family, string>>>;
  readonly mtu: number;
}

/** Formats the file as flanneld does, for programs that read it (upstream: flannel WriteSubnetFile). */
export function renderSubnetFile({ networks, ranges, mtu }: NodeNetworkFacts): string {
  const lines = (['ipv4', 'ipv6'] as const).flatMap((family) => {
    const [network, range] = [networks[family], ranges[family]];
    const prefix = family === 'ipv4' ? 'FLANNEL' : 'FLANNEL_IPV6';
    return network === undefined || range === undefined
      ? []
      : [`${prefix}_NETWORK=${network}`, `${prefix}_SUBNET=${addressIn(range, 1)}/${range.split('/')[1]}`];
  });
  return [...lines, `FLANNEL_MTU=${mtu}`, 'FLANNEL_IPMASQ=true', ''].join('\n');
}

export interface CniSettings {
  readonly networkName: string;
  readonly bridge: string;
  readonly dataDir: string | undefined;
}

/** Configures a bridge with the node's ranges. The overlay masquerades, because it knows the ranges of other nodes. */
export function renderCniConfig({ ranges, mtu }: NodeNetworkFacts, settings: CniSettings): string {
  const { networkName, bridge, dataDir } = settings;
  const own = [ranges.ipv4, ranges.ipv6].filter((range) => range !== undefined);
  const config = {
    cniVersion: '0.4.0',
    name: networkName,
    plugins: [
      {
        type: 'bridge',
        bridge,
        isGateway: true,
        // A node that was deleted and came back has another range.
        forceAddress: true,
        hairpinMode: true,
        mtu,
        ipam: {
          type: 'host-local',
          ...(dataDir !== undefined && { dataDir }),
          ranges: own.map((subnet) => [{ subnet }]),
          routes: own.map((range) => ({ dst: range.includes(':') ? '::/0' : '0.0.0.0/0' })),
        },
      },
      { type: 'portmap', capabilities: { portMappings: true }, snat: true },
    ],
  };
  return `${JSON.stringify(config, null, 2)}\n`;
}
