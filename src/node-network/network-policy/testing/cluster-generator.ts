/**
 * Generates clusters for property tests, with few names, labels and addresses, so that selections and ranges often
 * overlap.
 */
import type { NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '../../../api/networking/network-policy.ts';
import type { LabelSelector } from '../../../api/core/meta.ts';
import type { Labels } from '../../../api/label-requirement.ts';
import type { Random } from '../../../base/random.ts';
import type { PolicyPod, PolicyProtocol } from '../policy-pod.ts';

export const NODES = ['here', 'there'] as const;
export const NAMESPACES = ['x', 'y', 'z'] as const;
const NAMES = ['a', 'b', 'c', 'd'] as const;
const PROTOCOLS = ['TCP', 'UDP', 'SCTP'] as const;
export const PORTS = [79, 80, 81, 90, 100] as const;

export class ClusterGenerator {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Picks an element; `from` must not be empty. */
  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random.next() * from.length)] as T;
  }

  chance(share: number): boolean {
    return this.#random.next() < share;
  }

  labels(): Labels {
    return { pod: this.pick(NAMES), ...(this.chance(0.5) ? { tier: this.pick(['front', 'back']) } : {}) };
  }

  namespaceLabels(name: string): Labels {
    return { 'kubernetes.io/metadata.name': name, ...(this.chance(0.5) ? { team: this.pick(['red', 'blue']) } : {}) };
  }

  pod(namespace: string, name: string, index: number): PolicyPod {
    const both = [`10.1.${this.pick([0, 1])}.${index + 2}`, `fd00:1::${(index + 2).toString(16)}`];
    return {
      key: `${namespace}/${name}`,
      namespace,
      labels: this.labels(),
      node: this.pick(NODES),
      // One in eight is of the host's network or has ended.
      addresses: this.pick([both, both, both, both.slice(0, 1), both.slice(0, 1), both.slice(1), both, []]),
      ports: (['tcp', 'udp', 'sctp'] as PolicyProtocol[]).flatMap((protocol) =>
        this.chance(0.7) ? [{ name: this.pick(['web', 'dns']), protocol, port: this.pick(PORTS) }] : [],
      ),
      since: String(index),
    };
  }

  selector(key: string, values: readonly string[]): LabelSelector {
    const value = this.pick(values);
    return this.pick<LabelSelector>([
      {},
      { matchLabels: { [key]: value } },
      { matchExpressions: [{ key, operator: 'In', values: [value, this.pick(values)] }] },
      { matchExpressions: [{ key, operator: 'NotIn', values: [value] }] },
      { matchExpressions: [{ key, operator: this.pick(['Exists', 'DoesNotExist'] as const) }] },
    ]);
  }

  podSelector(): LabelSelector {
    return this.chance(0.7) ? this.selector('pod', NAMES) : this.selector('tier', ['front', 'back']);
  }

  namespaceSelector(): LabelSelector {
    return this.chance(0.5)
      ? this.selector('kubernetes.io/metadata.name', NAMESPACES)
      : this.selector('team', ['red', 'blue']);
  }

  peer(): NetworkPolicyPeer {
    return this.pick<() => NetworkPolicyPeer>([
      () => ({ podSelector: this.podSelector() }),
      () => ({ namespaceSelector: this.namespaceSelector() }),
      () => ({ podSelector: this.podSelector(), namespaceSelector: this.namespaceSelector() }),
      () => ({ ipBlock: { cidr: this.pick(['0.0.0.0/0', '10.1.0.0/16', '10.1.0.0/24', '192.0.2.0/24']) } }),
      () => ({ ipBlock: { cidr: '10.1.0.0/16', except: ['10.1.1.0/24', '10.1.0.4/30'] } }),
      () => ({ ipBlock: { cidr: '0.0.0.0/0', except: ['10.1.0.0/16', '10.0.0.0/8'] } }),
      () => ({ ipBlock: { cidr: '::/0', except: [this.pick(['fd00:1::4/126', 'fd00:1::/64'])] } }),
    ])();
  }

  port(): NetworkPolicyPort {
    const protocol = this.chance(0.3) ? {} : { protocol: this.pick(PROTOCOLS) };
    const number = this.pick(PORTS);
    return {
      ...protocol,
      ...this.pick<NetworkPolicyPort>([
        {},
        { port: number },
        { port: number, endPort: number + this.pick([0, 1, 10]) },
        { port: this.pick(['web', 'dns', 'absent']) },
      ]),
    };
  }

  list<T>(make: () => T): T[] | undefined {
    return this.chance(0.2) ? undefined : Array.from({ length: this.pick([0, 1, 1, 2, 3]) }, make);
  }

  policy(namespace: string, name: string): NetworkPolicy {
    const [ingress, egress] = [
      this.list(() => optional({ from: this.list(() => this.peer()), ports: this.list(() => this.port()) })),
      this.list(() => optional({ to: this.list(() => this.peer()), ports: this.list(() => this.port()) })),
    ];
    const policyTypes = this.pick<NetworkPolicy['spec']['policyTypes']>([
      undefined,
      [],
      ['Ingress'],
      ['Egress'],
      ['Ingress', 'Egress'],
    ]);
    return {
      metadata: { name, namespace, uid: `${namespace}/${name}` },
      spec: { podSelector: this.podSelector(), ...optional({ ingress, egress, policyTypes }) },
    };
  }
}

/** Removes undefined fields. */
function optional<T extends object>(value: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, each]) => each !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
