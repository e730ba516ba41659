// The situations of upstream's NetworkPolicy specs (upstream: test/e2e/network/netpol/network_policy.go).
import type { Labels } from '../../../../src/api/label-requirement.ts';
import type { NetworkPolicy, NetworkPolicyPeer } from '../../../../src/api/networking/network-policy.ts';
import type { NetworkEnd } from './pod-network.ts';

export const PODS = ['x/a', 'x/b', 'y/a', 'y/b'] as const;
export type PodName = (typeof PODS)[number];
export type EndName = PodName | 'outside' | 'node';

/** A policy in the namespace x, unless another one is given. */
export const policy = (name: string, spec: Partial<NetworkPolicy['spec']>, namespace = 'x'): NetworkPolicy => ({
  metadata: { name, namespace, uid: name },
  spec: { podSelector: {}, ...spec },
});

export const pod = (name: string): NetworkPolicyPeer['podSelector'] => ({ matchLabels: { pod: name } });
export const ns = (name: string): NetworkPolicyPeer['namespaceSelector'] => ({ matchLabels: { ns: name } });
const among = (key: string, operator: 'In' | 'NotIn', ...values: string[]): NetworkPolicyPeer['podSelector'] => ({
  matchExpressions: [{ key, operator, values }],
});

const both = { policyTypes: ['Ingress', 'Egress'] as NetworkPolicy['spec']['policyTypes'] };
export const ingress = { policyTypes: ['Ingress'] as NetworkPolicy['spec']['policyTypes'] };
export const egress = { policyTypes: ['Egress'] as NetworkPolicy['spec']['policyTypes'] };

/** What the cases change, and the addresses of its pods. */
interface CaseWorld {
  readonly endOf: (name: EndName) => NetworkEnd;
  /** The range around the IPv4 address of an end. */
  readonly blockOf: (name: EndName, length?: number) => string;
  readonly setPod: (name: PodName, labels?: Labels) => void;
  readonly setNamespace: (name: string, labels?: Labels) => void;
  readonly setPolicy: (policy: NetworkPolicy) => void;
  readonly dropPolicies: () => void;
}

export interface PolicyCase {
  readonly name: string;
  readonly policies: () => readonly NetworkPolicy[];
  /** `FROM TO [PROTOCOL/PORT]`. */
  readonly allows: readonly string[];
  readonly denies: readonly string[];
  /** A later change, after which `later` applies. */
  readonly change?: () => void;
  readonly later?: { readonly allows: readonly string[]; readonly denies: readonly string[] };
}

export const policyCases = (world: CaseWorld): readonly PolicyCase[] => [
  {
    name: "should support a 'default-deny-ingress' policy",
    policies: () => [policy('deny', { ...ingress, ingress: [] })],
    allows: ['x/a y/a', 'x/a x/a', 'node x/a', 'x/a node'],
    denies: ['x/b x/a', 'y/a x/a', 'outside x/a', 'y/a x/a udp/80'],
  },
  {
    name: "should support a 'default-deny-all' policy",
    policies: () => [policy('deny', both)],
    allows: ['y/a y/b', 'node x/a', 'x/a node', 'x/a x/a'],
    denies: ['x/a y/a', 'y/a x/a', 'x/a x/b', 'x/a outside'],
  },
  {
    name: 'should enforce policy to allow traffic from pods within server namespace based on PodSelector',
    policies: () => [
      policy('allow', { podSelector: pod('a') ?? {}, ingress: [{ from: [{ podSelector: pod('b') }] }] }),
    ],
    allows: ['x/b x/a', 'y/b x/b'],
    denies: ['y/b x/a', 'outside x/a'],
  },
  {
    name: 'should enforce policy to allow ingress traffic for a target',
    policies: () => [
      policy('deny', ingress),
      policy('allow', { podSelector: pod('a') ?? {}, ingress: [{ from: [{ namespaceSelector: {} }] }] }),
    ],
    allows: ['y/b x/a', 'x/b x/a'],
    denies: ['y/b x/b', 'outside x/a'],
  },
  {
    name: 'should enforce policy to allow ingress traffic from pods in all namespaces',
    policies: () => [
      policy('allow', { podSelector: pod('a') ?? {}, ingress: [{ from: [{ namespaceSelector: {} }] }] }),
    ],
    allows: ['y/b x/a'],
    denies: ['outside x/a'],
  },
  {
    name: 'should enforce policy to allow traffic only from a different namespace, based on NamespaceSelector',
    policies: () => [
      policy('allow', { podSelector: pod('a') ?? {}, ingress: [{ from: [{ namespaceSelector: ns('y') }] }] }),
    ],
    allows: ['y/a x/a', 'y/b x/a'],
    denies: ['x/b x/a'],
  },
  {
    name: 'should enforce policy based on PodSelector with MatchExpressions',
    policies: () => [
      policy('allow', { podSelector: pod('a') ?? {}, ingress: [{ from: [{ podSelector: among('pod', 'In', 'b') }] }] }),
    ],
    allows: ['x/b x/a'],
    denies: ['y/b x/a'],
  },
  {
    name: 'should enforce policy based on NamespaceSelector with MatchExpressions',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ingress: [{ from: [{ namespaceSelector: among('ns', 'NotIn', 'x') }] }],
      }),
    ],
    allows: ['y/b x/a'],
    denies: ['x/b x/a'],
  },
  {
    name: 'should enforce policy based on PodSelector or NamespaceSelector',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ingress: [{ from: [{ podSelector: pod('b') }, { namespaceSelector: ns('y') }] }],
      }),
    ],
    allows: ['x/b x/a', 'y/a x/a'],
    denies: ['outside x/a'],
  },
  {
    name: 'should enforce policy based on PodSelector and NamespaceSelector',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ingress: [{ from: [{ podSelector: pod('b'), namespaceSelector: ns('y') }] }],
      }),
    ],
    allows: ['y/b x/a'],
    denies: ['x/b x/a', 'y/a x/a'],
  },
  {
    name: 'should enforce policy based on Multiple PodSelectors and NamespaceSelectors',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ingress: [
          { from: [{ podSelector: among('pod', 'In', 'a', 'b'), namespaceSelector: among('ns', 'NotIn', 'x') }] },
        ],
      }),
    ],
    allows: ['y/a x/a', 'y/b x/a'],
    denies: ['x/b x/a'],
  },
  {
    name: 'should enforce policy based on any PodSelectors',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ingress: [{ from: [{ podSelector: pod('b') }, { podSelector: pod('c') }] }],
      }),
    ],
    allows: ['x/b x/a'],
    denies: ['y/b x/a'],
  },
  {
    name: 'should enforce policy to allow traffic only from a pod in a different namespace based on PodSelector and NamespaceSelector',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ingress: [{ from: [{ podSelector: pod('a'), namespaceSelector: ns('y') }] }],
      }),
    ],
    allows: ['y/a x/a', 'y/a x/a udp/80'],
    denies: ['y/b x/a', 'x/b x/a'],
  },
  {
    name: 'should enforce policy based on Ports',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ingress: [{ ports: [{ port: 81 }], from: [{ namespaceSelector: ns('y') }] }],
      }),
    ],
    allows: ['y/a x/a tcp/81'],
    denies: ['y/a x/a tcp/80', 'x/b x/a tcp/81', 'y/a x/a udp/80'],
  },
  {
    name: 'should enforce multiple, stacked policies with overlapping podSelectors',
    policies: () => [
      policy('first', {
        podSelector: pod('a') ?? {},
        ingress: [{ ports: [{ port: 81 }], from: [{ namespaceSelector: ns('y') }] }],
      }),
      policy('second', {
        podSelector: pod('a') ?? {},
        ingress: [{ ports: [{ port: 80 }], from: [{ namespaceSelector: ns('y') }] }],
      }),
    ],
    allows: ['y/a x/a tcp/80', 'y/a x/a tcp/81'],
    denies: ['x/b x/a tcp/80'],
  },
  {
    name: 'should support allow-all policy',
    policies: () => [policy('allow', { ...both, ingress: [{}], egress: [{}] })],
    allows: ['y/a x/a', 'outside x/a', 'x/a outside'],
    denies: [],
  },
  {
    name: 'should allow ingress access on one named port',
    policies: () => [policy('allow', { podSelector: pod('a') ?? {}, ingress: [{ ports: [{ port: 'serve-81' }] }] })],
    allows: ['y/a x/a tcp/81', 'outside x/a tcp/81'],
    denies: ['y/a x/a tcp/80'],
  },
  {
    name: 'should allow ingress access from namespace on one named port',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ingress: [{ ports: [{ port: 'serve-80' }], from: [{ namespaceSelector: ns('y') }] }],
      }),
    ],
    allows: ['y/a x/a tcp/80'],
    denies: ['x/b x/a tcp/80', 'y/a x/a tcp/81'],
  },
  {
    name: 'should allow egress access on one named port',
    policies: () => [
      policy('allow', { podSelector: pod('a') ?? {}, ...egress, egress: [{ ports: [{ port: 'serve-80' }] }] }),
    ],
    allows: ['x/a y/a tcp/80', 'x/b y/a tcp/81'],
    denies: ['x/a y/a tcp/81', 'x/a outside tcp/80'],
  },
  {
    name: 'should enforce updated policy',
    policies: () => [policy('allow', { ...ingress, ingress: [{}] })],
    allows: ['y/a x/a'],
    denies: [],
    change: () => world.setPolicy(policy('allow', { ...ingress, ingress: [] })),
    later: { allows: ['node x/a'], denies: ['y/a x/a'] },
  },
  {
    name: 'should allow ingress access from updated namespace',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ingress: [{ from: [{ namespaceSelector: { matchLabels: { ns2: 'updated' } } }] }],
      }),
    ],
    allows: [],
    denies: ['y/a x/a'],
    change: () => world.setNamespace('y', { ns2: 'updated' }),
    later: { allows: ['y/a x/a'], denies: ['x/b x/a'] },
  },
  {
    name: 'should allow ingress access from updated pod',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ingress: [{ from: [{ podSelector: { matchLabels: { pod2: 'updated' } } }] }],
      }),
    ],
    allows: [],
    denies: ['x/b x/a'],
    change: () => world.setPod('x/b', { pod2: 'updated' }),
    later: { allows: ['x/b x/a'], denies: ['y/b x/a'] },
  },
  {
    name: 'should deny ingress from pods on other namespaces',
    policies: () => [policy('allow', { ingress: [{ from: [{ podSelector: {} }] }] })],
    allows: ['x/a x/b'],
    denies: ['y/a x/a'],
  },
  {
    name: 'should deny ingress access to updated pod',
    policies: () => [policy('deny', { podSelector: { matchLabels: { target: 'isolated' } }, ...ingress })],
    allows: ['y/a x/a'],
    denies: [],
    change: () => world.setPod('x/a', { target: 'isolated' }),
    later: { allows: ['y/a x/b'], denies: ['y/a x/a'] },
  },
  {
    name: 'should deny egress from pods based on PodSelector',
    policies: () => [policy('deny', { podSelector: pod('a') ?? {}, ...egress })],
    allows: ['x/b y/a', 'y/a x/a'],
    denies: ['x/a y/a', 'x/a outside'],
  },
  {
    name: 'should deny egress from all pods in a namespace',
    policies: () => [policy('deny', egress)],
    allows: ['y/a x/a', 'x/a node'],
    denies: ['x/a y/a', 'x/b x/a'],
  },
  {
    name: 'should work with Ingress, Egress specified together',
    policies: () => [
      policy('both', {
        ...both,
        podSelector: pod('a') ?? {},
        ingress: [{ from: [{ podSelector: pod('b') }] }],
        egress: [{ ports: [{ port: 80 }] }],
      }),
    ],
    allows: ['x/b x/a', 'x/a y/a tcp/80'],
    denies: ['y/a x/a', 'x/a y/a tcp/81', 'x/a y/a udp/80'],
  },
  {
    name: 'should support denying of egress traffic on the client side (even if the server explicitly allows this traffic)',
    policies: () => [
      policy('deny', { podSelector: pod('a') ?? {}, ...egress, egress: [{ to: [{ podSelector: pod('b') }] }] }),
      policy('allow', { podSelector: pod('a') ?? {}, ingress: [{ from: [{ namespaceSelector: ns('x') }] }] }, 'y'),
    ],
    allows: ['x/a x/b', 'x/b y/a'],
    denies: ['x/a y/a'],
  },
  {
    name: 'should enforce egress policy allowing traffic to a server in a different namespace based on PodSelector and NamespaceSelector',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ...egress,
        egress: [{ to: [{ podSelector: pod('a'), namespaceSelector: ns('y') }] }],
      }),
    ],
    allows: ['x/a y/a'],
    denies: ['x/a y/b', 'x/a x/b'],
  },
  {
    name: 'should enforce ingress policy allowing any port traffic to a server on a specific protocol',
    policies: () => [policy('allow', { podSelector: pod('a') ?? {}, ingress: [{ ports: [{ protocol: 'UDP' }] }] })],
    allows: ['y/a x/a udp/80'],
    denies: ['y/a x/a tcp/80'],
  },
  {
    name: 'should enforce multiple ingress policies with ingress allow-all policy taking precedence',
    policies: () => [policy('deny', ingress), policy('allow', { ...ingress, ingress: [{}] })],
    allows: ['y/a x/a', 'outside x/a'],
    denies: [],
  },
  {
    name: 'should enforce multiple egress policies with egress allow-all policy taking precedence',
    policies: () => [policy('deny', egress), policy('allow', { ...egress, egress: [{}] })],
    allows: ['x/a y/a', 'x/a outside'],
    denies: [],
  },
  {
    name: 'should stop enforcing policies after they are deleted',
    policies: () => [policy('deny', both)],
    allows: ['node x/a'],
    denies: ['x/a y/a'],
    change: world.dropPolicies,
    later: { allows: ['x/a y/a', 'y/a x/a'], denies: [] },
  },
  {
    name: 'should allow egress access to server in CIDR block',
    policies: () => [
      policy('allow', {
        ...egress,
        podSelector: pod('a') ?? {},
        egress: [{ to: [{ ipBlock: { cidr: world.blockOf('y/b') } }] }],
      }),
    ],
    allows: ['x/a y/b'],
    denies: ['x/a y/a', 'x/a outside'],
  },
  {
    name: 'should enforce except clause while egress access to server in CIDR block',
    policies: () => [
      policy('allow', {
        ...egress,
        podSelector: pod('a') ?? {},
        egress: [{ to: [{ ipBlock: { cidr: world.blockOf('y/b', 24), except: [world.blockOf('y/b')] } }] }],
      }),
    ],
    allows: ['x/a y/a'],
    denies: ['x/a y/b', 'x/a outside'],
  },
  {
    name: 'should ensure an IP overlapping both IPBlock.CIDR and IPBlock.Except is allowed',
    policies: () => [
      policy('allow', {
        ...egress,
        podSelector: pod('a') ?? {},
        egress: [
          {
            to: [
              { ipBlock: { cidr: world.blockOf('y/b', 24), except: [world.blockOf('y/b')] } },
              { ipBlock: { cidr: world.blockOf('y/b') } },
            ],
          },
        ],
      }),
    ],
    allows: ['x/a y/a', 'x/a y/b'],
    denies: ['x/a outside'],
  },
  {
    name: 'should enforce policies to check ingress and egress policies can be controlled independently based on PodSelector',
    policies: () => [
      policy('out', { ...egress, podSelector: pod('a') ?? {}, egress: [{ to: [{ podSelector: pod('b') }] }] }),
      policy('in', { ...ingress, podSelector: pod('a') ?? {} }),
    ],
    allows: ['x/a x/b'],
    denies: ['x/b x/a'],
  },
  {
    name: "should not mistakenly treat 'protocol: SCTP' as 'protocol: TCP', even if the plugin doesn't support SCTP",
    policies: () => [
      policy('deny', ingress),
      policy('sctp', { podSelector: pod('a') ?? {}, ingress: [{ ports: [{ protocol: 'SCTP', port: 80 }] }] }),
    ],
    allows: ['x/a y/a'],
    denies: ['y/a x/a tcp/80', 'y/a x/a udp/80'],
  },
  {
    name: "should properly isolate pods that are selected by a policy allowing SCTP, even if the plugin doesn't support SCTP",
    policies: () => [
      policy('sctp', { podSelector: pod('a') ?? {}, ingress: [{ ports: [{ protocol: 'SCTP', port: 80 }] }] }),
    ],
    allows: ['y/a x/b'],
    denies: ['y/a x/a tcp/80', 'y/a x/a tcp/81'],
  },
  {
    name: 'should not allow access by TCP when a policy specifies only UDP',
    policies: () => [
      policy('udp', { podSelector: pod('a') ?? {}, ingress: [{ ports: [{ protocol: 'UDP', port: 80 }] }] }),
    ],
    allows: ['y/a x/a udp/80'],
    denies: ['y/a x/a tcp/80', 'y/a x/a tcp/81'],
  },
  {
    name: 'should enforce ranges of ports (endPort)',
    policies: () => [
      policy('range', {
        podSelector: pod('a') ?? {},
        ingress: [
          {
            ports: [
              { port: 81, endPort: 90 },
              { port: 70, endPort: 79 },
            ],
          },
        ],
      }),
    ],
    allows: ['y/a x/a tcp/81'],
    denies: ['y/a x/a tcp/80'],
  },
  {
    name: 'should enforce blocks of IPv6',
    policies: () => [
      policy('v6', {
        podSelector: pod('a') ?? {},
        ingress: [{ from: [{ ipBlock: { cidr: '::/0', except: [`${world.endOf('y/a').v6}/128`] } }] }],
      }),
    ],
    allows: [],
    denies: ['y/a x/a', 'y/b x/a'],
  },
];
