/** Converts a policy to chains over sets. The sets are named after their contents, so policies share them. */
import { createHash } from 'node:crypto';
import type { NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '../../api/networking/network-policy.ts';
import type { LabelSelector } from '../../api/core/meta.ts';
import type { Direction } from './is-allowed.ts';
import { directionsOf } from './is-allowed.ts';
import type { AddressRanges } from './ip-ranges.ts';
import { rangesOfBlocks } from './ip-ranges.ts';
import type { PolicyProtocol } from './policy-pod.ts';
import { isPortNumber, protocolOf } from './policy-pod.ts';

export const families = ['v4', 'v6'] as const;
export type Family = (typeof families)[number];

/** One of several selections whose pods are combined. */
export interface PodChoice {
  /** The namespace of the pods; absent means the namespaces that `namespaceSelector` selects. */
  readonly namespace?: string;
  readonly namespaceSelector?: LabelSelector;
  /** The selector of the pods; absent means all pods of these namespaces. */
  readonly podSelector?: LabelSelector;
}

/** Selected pods or, with `port`, their container ports with this name. The kernel has one set for each family. */
export interface PodGroup {
  /** The name without the family. */
  readonly name: string;
  /** The selections; undefined means all pods. */
  readonly choices: readonly PodChoice[] | undefined;
  readonly port?: { readonly name: string; readonly protocol: PolicyProtocol };
}

/** A set with fixed elements. */
export interface FixedSet {
  readonly name: string;
  readonly body: string;
  readonly elements: readonly string[];
}

export interface CompiledChain {
  readonly name: string;
  readonly rules: readonly string[];
}

/** One direction of one policy: a chain for packets to the server, and one for replies. */
export interface CompiledPolicy {
  readonly groups: readonly PodGroup[];
  readonly sets: readonly FixedSet[];
  readonly request: CompiledChain;
  readonly reply: CompiledChain;
}

type Peers =
  | { readonly kind: 'any' }
  | { readonly kind: 'pods'; readonly group: PodGroup }
  | { readonly kind: 'blocks'; readonly sets: Readonly<Record<Family, FixedSet | undefined>> };
type Ports =
  | { readonly kind: 'any' }
  | { readonly kind: 'numbers'; readonly set: FixedSet }
  | { readonly kind: 'names'; readonly group: PodGroup };

const digest = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 24);

export const groupSet = (group: PodGroup, family: Family): string => `${group.name}-${family}`;

const addressType = { v4: 'ipv4_addr', v6: 'ipv6_addr' } as const;
const addressWord = { v4: 'ip', v6: 'ip6' } as const;

export const groupBody = ({ port }: PodGroup, family: Family): string =>
  port === undefined ? `type ${addressType[family]};` : `type ${addressType[family]} . inet_proto . inet_service;`;

/** Compiles one direction of a policy; undefined if the policy does not restrict it. */
export function compilePolicy(policy: NetworkPolicy, direction: Direction): CompiledPolicy | undefined {
  if (!directionsOf(policy).includes(direction)) return undefined;
  const { metadata, spec } = policy;
  const { namespace } = metadata;
  const rules =
    direction === 'Ingress'
      ? (spec.ingress ?? []).map(({ from = [], ports = [] }) => ({ peers: from, ports }))
      : (spec.egress ?? []).map(({ to = [], ports = [] }) => ({ peers: to, ports }));
  const pairs = rules.flatMap((rule) => {
    const ports = portsOf(rule.ports, direction, policy);
    return peersOf(rule.peers, namespace).flatMap((peers) =>
      ports.map((port) => ({ peers, port: direction === 'Egress' ? narrowed(port, peers) : port })),
    );
  });
  const key = digest([namespace, metadata.name, direction]);
  const render = (isReply: boolean): readonly string[] => [
    ...new Set(pairs.flatMap(({ peers, port }) => ruleTexts(peers, port, direction, isReply))),
  ];
  return {
    groups: pairs.flatMap(({ peers, port }) => [
      ...(peers.kind === 'pods' && port.kind !== 'names' ? [peers.group] : []),
      ...(peers.kind === 'pods' && port.kind === 'names' && direction === 'Ingress' ? [peers.group] : []),
      ...(port.kind === 'names' ? [port.group] : []),
    ]),
    sets: pairs.flatMap(({ peers, port }) => [
      ...(peers.kind === 'blocks' ? families.flatMap((family) => peers.sets[family] ?? []) : []),
      ...(port.kind === 'numbers' ? [port.set] : []),
    ]),
    request: { name: `${direction.toLowerCase()}-${key}`, rules: render(false) },
    reply: { name: `${direction.toLowerCase()}-reply-${key}`, rules: render(true) },
  };
}

/** Returns the alternatives of the peers; none if they select nothing. */
function peersOf(peers: readonly NetworkPolicyPeer[], namespace: string): Peers[] {
  if (peers.length === 0) return [{ kind: 'any' }];
  const choices = peers.flatMap(({ ipBlock, podSelector, namespaceSelector }): PodChoice[] => {
    if (ipBlock !== undefined || (podSelector === undefined && namespaceSelector === undefined)) return [];
    const where = namespaceSelector === undefined ? { namespace } : { namespaceSelector };
    return [podSelector === undefined ? where : { ...where, podSelector }];
  });
  const blocks = rangesOfBlocks(peers.flatMap(({ ipBlock }) => ipBlock ?? []));
  return [
    ...(choices.length > 0 ? [{ kind: 'pods', group: podGroup(choices) } as const] : []),
    ...(blocks.v4.length + blocks.v6.length > 0 ? [{ kind: 'blocks', sets: blockSets(blocks) } as const] : []),
  ];
}

const podGroup = (choices: readonly PodChoice[] | undefined, port?: PodGroup['port']): PodGroup => ({
  name: `pods-${digest([choices, port])}`,
  choices,
  ...(port === undefined ? {} : { port }),
});

function blockSets(blocks: AddressRanges): Readonly<Record<Family, FixedSet | undefined>> {
  const setOf = (family: Family): FixedSet | undefined =>
    blocks[family].length === 0
      ? undefined
      : {
          name: `blocks-${digest(blocks[family])}-${family}`,
          body: `type ${addressType[family]}; flags interval;`,
          elements: blocks[family],
        };
  return { v4: setOf('v4'), v6: setOf('v6') };
}

/**
 * Returns the alternatives of the ports; none if they match nothing. For ingress, the named ports of the policy's own
 * pods are known.
 */
function portsOf(
  ports: readonly NetworkPolicyPort[],
  direction: Direction,
  { metadata, spec }: NetworkPolicy,
): Ports[] {
  if (ports.length === 0) return [{ kind: 'any' }];
  const elements = numberRanges(ports);
  const numbers =
    elements.length === 0
      ? []
      : [
          {
            kind: 'numbers',
            set: {
              name: `ports-${digest(elements)}`,
              body: 'type inet_proto . inet_service; flags interval;',
              elements,
            },
          } as const,
        ];
  const own: readonly PodChoice[] | undefined =
    direction === 'Ingress' ? [{ namespace: metadata.namespace, podSelector: spec.podSelector }] : undefined;
  const names = ports.flatMap(({ port, protocol: named }): Ports[] => {
    const protocol = protocolOf(named);
    return typeof port !== 'string' || protocol === undefined
      ? []
      : [{ kind: 'names', group: podGroup(own, { name: port, protocol }) }];
  });
  return [...numbers, ...names];
}

/**
 * Combines ports and peers of an egress rule. The pods of the peers are the servers, so the set of their named ports
 * matches peer and port together.
 */
function narrowed(ports: Ports, peers: Peers): Ports {
  if (ports.kind !== 'names' || peers.kind !== 'pods') return ports;
  return { kind: 'names', group: podGroup(peers.group.choices, ports.group.port) };
}

/**
 * Returns elements such as `tcp . 80` and `tcp . 8000-8100`. They never overlap or touch, because the kernel refuses
 * overlapping ones.
 */
function numberRanges(ports: readonly NetworkPolicyPort[]): string[] {
  const spans = new Map<PolicyProtocol, [first: number, last: number][]>();
  for (const { port, endPort, protocol: named } of ports) {
    const protocol = protocolOf(named);
    if (protocol === undefined || typeof port === 'string') continue;
    const span: [number, number] = port === undefined ? [0, 65_535] : [port, isPortNumber(endPort) ? endPort : port];
    if (port !== undefined && (!isPortNumber(port) || span[1] < port)) continue;
    spans.set(protocol, [...(spans.get(protocol) ?? []), span]);
  }
  return [...spans].flatMap(([protocol, list]) => {
    const merged: [number, number][] = [];
    for (const [first, last] of list.sort(([left], [right]) => left - right)) {
      const before = merged.at(-1);
      if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
      else merged.push([first, last]);
    }
    return merged.map(([first, last]) => `${protocol} . ${first === last ? first : `${first}-${last}`}`);
  });
}

/** Returns the texts of the rules. In replies source and destination are exchanged. */
function ruleTexts(peers: Peers, ports: Ports, direction: Direction, isReply: boolean): string[] {
  const [client, server, port] = isReply ? ['daddr', 'saddr', 'sport'] : ['saddr', 'daddr', 'dport'];
  const peer = direction === 'Ingress' ? client : server;
  const of = (family: Family): string | undefined => {
    const words: string[] = [];
    if (peers.kind === 'pods' && !(direction === 'Egress' && ports.kind === 'names'))
      words.push(`${addressWord[family]} ${peer} @${groupSet(peers.group, family)}`);
    if (peers.kind === 'blocks') {
      const set = peers.sets[family];
      if (set === undefined) return undefined;
      words.push(`${addressWord[family]} ${peer} @${set.name}`);
    }
    if (ports.kind === 'numbers') words.push(`meta l4proto . th ${port} @${ports.set.name}`);
    if (ports.kind === 'names')
      words.push(`${addressWord[family]} ${server} . meta l4proto . th ${port} @${groupSet(ports.group, family)}`);
    return [...words, 'accept'].join(' ');
  };
  return [...new Set(families.flatMap((family) => of(family) ?? []))];
}
