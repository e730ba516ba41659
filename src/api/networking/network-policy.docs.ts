import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  IPBlockSchema,
  NetworkPolicyEgressRuleSchema,
  NetworkPolicyIngressRuleSchema,
  NetworkPolicyPeerSchema,
  NetworkPolicyPortSchema,
  NetworkPolicySchema,
  NetworkPolicySpecSchema,
} from './network-policy.ts';

export const docs: readonly TypeDocs[] = [
  describe(IPBlockSchema, 'A range of IP addresses.', {
    cidr: 'The range, such as 192.168.1.0/24 or 2001:db8::/64.',
    except: 'Parts of the range that do not count.',
  }),
  describe(NetworkPolicyPeerSchema, 'Pods or addresses at the other end of a connection.', {
    podSelector:
      'Pods with these labels: in the namespaces of namespaceSelector, or without that in the namespace of the policy. An empty selector selects all pods.',
    namespaceSelector: 'Namespaces with these labels. An empty selector selects all namespaces.',
    ipBlock: 'A range of addresses. Not together with a selector.',
  }),
  describe(NetworkPolicyPortSchema, 'A port, or a range of ports.', {
    protocol: 'The protocol. Default TCP.',
    port: 'A number, or the name of a port of the pod. Absent: every port.',
    endPort: 'The last port of a range that begins with port, which must then be a number.',
  }),
  describe(NetworkPolicyIngressRuleSchema, 'Connections that selected pods may receive.', {
    ports: 'The ports of the selected pods. Empty: all ports.',
    from: 'The sources of allowed connections. Empty: all.',
  }),
  describe(NetworkPolicyEgressRuleSchema, 'Connections that selected pods may open.', {
    ports: 'The ports of the destinations. Empty: all ports.',
    to: 'The destinations of allowed connections. Empty: all.',
  }),
  describe(NetworkPolicySpecSchema, 'Which pods a policy isolates, and what it still allows.', {
    podSelector: 'The pods of the namespace that the policy is for. An empty selector selects all.',
    ingress: 'Connections that the pods may receive. Empty: none, if the policy is for Ingress.',
    egress: 'Connections that the pods may open. Empty: none, if the policy is for Egress.',
    policyTypes: 'The directions that the policy is for. Default Ingress, and Egress if there is an egress rule.',
  }),
  describe(
    NetworkPolicySchema,
    'Defines which connections are allowed for pods of a namespace. The network plugin of the nodes enforces it.',
    {},
  ),
];
