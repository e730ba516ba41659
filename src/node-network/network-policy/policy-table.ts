/**
 * The rules of all policies for the pods of one node. Invariants:
 * 1. A pod that a policy isolates has an entry in a map of its direction, which leads to the chain of its policies.
 *    That chain ends with a drop. Other addresses have no entry, and their packets pass.
 * 2. Every packet is checked, and not only the first one of a connection. So traffic that a change forbids ends
 *    immediately, in both directions.
 * 3. The cost of a change depends on what it affects: for a pod its memberships, for a policy the pods of its
 *    namespace.
 * 4. The table contains only policies that select a pod of the node, with the sets that they use.
 */
import type { NetworkPolicy } from '../../api/networking/network-policy.ts';
import type { Labels } from '../../api/label-requirement.ts';
import { matchesLabelSelector } from '../../api/selectors.ts';
import type { TableDraft } from '../nftables/table-draft.ts';
import { baseChains, mapBody, mapName, selfBody, selfName } from './base-chains.ts';
import type { CompiledPolicy } from './compile-policy.ts';
import { compilePolicy, families } from './compile-policy.ts';
import { familyOf, GroupSets } from './group-sets.ts';
import type { Direction } from './is-allowed.ts';
import { PolicyChains } from './policy-chains.ts';
import type { PolicyPod } from './policy-pod.ts';

const directions = ['Ingress', 'Egress'] as const;

/** The entries of a pod of this node: its addresses, and its chain for each direction in which it is isolated. */
interface Entry extends Readonly<Record<Direction, string | undefined>> {
  readonly ips: readonly string[];
}

interface KnownPolicy extends Readonly<Record<Direction, CompiledPolicy | undefined>> {
  readonly policy: NetworkPolicy;
}

export interface PolicyTableOptions {
  readonly draft: TableDraft;
  readonly nodeName: string;
  /** The bridge of the node's pods. Pods can reach each other over it by link-local addresses. */
  readonly podBridge?: string | undefined;
}

export class PolicyTable {
  readonly #draft: TableDraft;
  readonly #nodeName: string;
  readonly #groups: GroupSets;
  readonly #chains: PolicyChains;
  readonly #pods = new Map<string, PolicyPod>();
  readonly #podsOf = new Map<string, Set<string>>();
  readonly #namespaces = new Map<string, Labels>();
  readonly #policiesOf = new Map<string, Map<string, KnownPolicy>>();
  /**
   * The pods with this address. It belongs to the youngest of them, because the others have ended, even if that is not
   * known yet.
   */
  readonly #claims = new Map<string, Set<string>>();
  readonly #entries = new Map<string, Entry>();

  constructor({ draft, nodeName, podBridge }: PolicyTableOptions) {
    this.#draft = draft;
    this.#nodeName = nodeName;
    this.#groups = new GroupSets(draft);
    this.#chains = new PolicyChains(draft, this.#groups);
    for (const family of families) {
      for (const direction of directions)
        for (const isReply of [false, true])
          draft.putSet(mapName(direction, family, isReply), { kind: 'map', body: mapBody(family) });
      draft.putSet(selfName(family), { kind: 'set', body: selfBody(family) });
    }
    for (const [name, chain] of baseChains(podBridge)) draft.putChain(name, chain);
  }

  /** Sets the labels of a namespace; undefined if it was removed. */
  setNamespace(name: string, labels: Labels | undefined): void {
    if (labels === undefined) this.#namespaces.delete(name);
    else this.#namespaces.set(name, labels);
    for (const key of this.#podsOf.get(name) ?? []) this.#refreshMembership(key);
  }

  /** Sets the current state of a pod; undefined if it was removed. */
  setPod(key: string, pod: PolicyPod | undefined): void {
    const before = this.#pods.get(key);
    if (pod === undefined) this.#pods.delete(key);
    else this.#pods.set(key, pod);
    const namespace = pod?.namespace ?? before?.namespace;
    if (namespace === undefined) return;
    if (pod === undefined) dropFrom(this.#podsOf, namespace, key);
    else addTo(this.#podsOf, namespace, key);
    for (const ip of before?.addresses ?? []) dropFrom(this.#claims, ip, key);
    for (const ip of pod?.addresses ?? []) addTo(this.#claims, ip, key);
    const rivals = new Set([key]);
    for (const ip of [...(before?.addresses ?? []), ...(pod?.addresses ?? [])])
      for (const rival of this.#claims.get(ip) ?? []) rivals.add(rival);
    // An address that changes hands leaves before it comes.
    if (rivals.size > 1) for (const rival of rivals) this.#groups.setPod(rival, undefined);
    for (const rival of rivals) this.#withdraw(rival);
    for (const rival of rivals) {
      this.#refreshMembership(rival);
      this.#enter(rival);
    }
  }

  /** Sets the current policy; undefined if it was removed. */
  setPolicy(namespace: string, name: string, policy: NetworkPolicy | undefined): void {
    const policies = this.#policiesOf.get(namespace) ?? new Map<string, KnownPolicy>();
    if (policy === undefined) policies.delete(name);
    else {
      const known = { policy, Ingress: compilePolicy(policy, 'Ingress'), Egress: compilePolicy(policy, 'Egress') };
      policies.set(name, known);
      for (const direction of directions) if (known[direction] !== undefined) this.#chains.renew(known[direction]);
    }
    if (policies.size === 0) this.#policiesOf.delete(namespace);
    else this.#policiesOf.set(namespace, policies);
    for (const key of this.#podsOf.get(namespace) ?? [])
      if (this.#pods.get(key)?.node === this.#nodeName) this.#enter(key);
  }

  #ownAddresses(key: string): readonly string[] {
    const ageOf = (each: string): string => `${this.#pods.get(each)?.since ?? ''} ${each}`;
    return (this.#pods.get(key)?.addresses ?? []).filter((ip) => {
      const claims = this.#claims.get(ip);
      return claims === undefined || claims.size < 2 || [...claims].every((each) => ageOf(each) <= ageOf(key));
    });
  }

  #refreshMembership(key: string): void {
    const pod = this.#pods.get(key);
    if (pod === undefined) this.#groups.setPod(key, undefined);
    else
      this.#groups.setPod(
        key,
        { ...pod, addresses: this.#ownAddresses(key) },
        this.#namespaces.get(pod.namespace) ?? {},
      );
  }

  /** Returns the addresses of the pod for which this node enforces policies. */
  #guarded(key: string): readonly string[] {
    return this.#pods.get(key)?.node === this.#nodeName ? this.#ownAddresses(key) : [];
  }

  /** Removes addresses that no longer belong to the pod. */
  #withdraw(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    const ips = this.#guarded(key);
    for (const ip of entry.ips) if (!ips.includes(ip)) this.#setAddress(ip, undefined);
  }

  /** Updates the entries of a pod to its current policies. */
  #enter(key: string): void {
    const before = this.#entries.get(key);
    const ips = this.#guarded(key);
    const chainOf = (direction: Direction): string | undefined => {
      const policies = ips.length === 0 ? [] : this.#selecting(key, direction);
      return policies.length === 0 ? undefined : this.#chains.acquire(policies);
    };
    // New chains are acquired before the old ones are released, so that a chain in both stays unchanged.
    const after: Entry = { ips, Ingress: chainOf('Ingress'), Egress: chainOf('Egress') };
    for (const ip of ips) this.#setAddress(ip, after);
    for (const direction of directions) if (before?.[direction] !== undefined) this.#chains.release(before[direction]);
    if (ips.length === 0) this.#entries.delete(key);
    else this.#entries.set(key, after);
  }

  #setAddress(ip: string, entry: Entry | undefined): void {
    const family = familyOf(ip);
    for (const direction of directions) {
      const chain = entry?.[direction];
      for (const isReply of [false, true]) {
        const map = mapName(direction, family, isReply);
        if (chain === undefined) this.#draft.dropElement(map, ip);
        else this.#draft.putElement(map, ip, `goto ${chain}${isReply ? '-reply' : ''}`);
      }
    }
    const isIsolated = entry?.Ingress !== undefined || entry?.Egress !== undefined;
    if (isIsolated) this.#draft.putElement(selfName(family), `${ip} . ${ip}`);
    else this.#draft.dropElement(selfName(family), `${ip} . ${ip}`);
  }

  #selecting(key: string, direction: Direction): readonly CompiledPolicy[] {
    const pod = this.#pods.get(key);
    return [...(this.#policiesOf.get(pod?.namespace ?? '')?.values() ?? [])].flatMap((known) => {
      const compiled = known[direction];
      const isSelected = pod !== undefined && matchesLabelSelector(known.policy.spec.podSelector, pod.labels);
      return isSelected && compiled !== undefined ? [compiled] : [];
    });
  }
}

function addTo(index: Map<string, Set<string>>, name: string, key: string): void {
  const keys = index.get(name);
  if (keys === undefined) index.set(name, new Set([key]));
  else keys.add(key);
}

function dropFrom(index: Map<string, Set<string>>, name: string, key: string): void {
  const keys = index.get(name);
  keys?.delete(key);
  if (keys?.size === 0) index.delete(name);
}
