/**
 * The chains through which packets enter the rules of policies: forwarded packets, which is all traffic between pods
 * (bridged traffic too, while `bridge-nf-call-iptables` is set) and between pods and other machines. Service addresses
 * are translated before. Packets from and to the node itself are not forwarded, so probes always reach their pods.
 */
import type { NftChain } from '../nftables/table-draft.ts';
import type { Family } from './compile-policy.ts';
import { families } from './compile-policy.ts';
import type { Direction } from './is-allowed.ts';

/** The name of the map from the address of an isolated pod to its chain. */
export const mapName = (direction: Direction, family: Family, isReply = false): string =>
  `${direction.toLowerCase()}${isReply ? '-reply' : ''}-pods-${family}`;
/** The name of the set of pairs of an isolated pod's address with itself. */
export const selfName = (family: Family): string => `self-${family}`;

const addressType = { v4: 'ipv4_addr', v6: 'ipv6_addr' } as const;
const addressWord = { v4: 'ip', v6: 'ip6' } as const;

export const mapBody = (family: Family): string => `type ${addressType[family]} : verdict;`;
export const selfBody = (family: Family): string => `type ${addressType[family]} . ${addressType[family]};`;

/**
 * Returns the base chains. Replies are checked against the policies of their connection, with source and destination
 * exchanged.
 */
export function baseChains(podBridge: string | undefined): ReadonlyMap<string, NftChain> {
  const ends = (direction: Direction, isReply: boolean): string[] =>
    families.map((family) => {
      const end = (direction === 'Ingress') === isReply ? 'saddr' : 'daddr';
      return `${addressWord[family]} ${end} vmap @${mapName(direction, family, isReply)}`;
    });
  // Neighbour discovery corresponds to ARP of IPv4. Errors belong to a connection that was checked.
  const always = [
    'icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit, nd-router-advert } accept',
    'meta l4proto { icmp, ipv6-icmp } ct state related accept',
    ...families.map((family) => {
      const word = addressWord[family];
      return `${word} saddr . ${word} daddr @${selfName(family)} accept`;
    }),
  ];
  // Policies identify pods by their addresses. Link-local addresses belong to no pod, and would bypass every policy.
  const ofTheLink =
    podBridge === undefined ? [] : [`iifname "${podBridge}" oifname "${podBridge}" ip6 saddr fe80::/10 drop`];
  const chainsOf = (direction: Direction, priority: number): [string, NftChain][] => {
    const name = direction.toLowerCase();
    return [
      [`${name}-reply`, { rules: ends(direction, true) }],
      [
        name,
        {
          head: `type filter hook forward priority ${priority}; policy accept;`,
          rules: [
            ...always,
            ...(direction === 'Egress' ? ofTheLink : []),
            `ct direction reply goto ${name}-reply`,
            ...ends(direction, false),
          ],
        },
      ],
    ];
  };
  return new Map([...chainsOf('Egress', -6), ...chainsOf('Ingress', -5)]);
}
