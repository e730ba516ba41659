/** NetworkPolicy of networking.k8s.io/v1. The fields follow k8s.io/api/networking/v1. */
import {
  array,
  field,
  filled,
  int32,
  intOrString,
  object,
  oneOf,
  pointer,
  required,
  string,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ProtocolSchema } from '../core/container.ts';
import { LabelSelectorSchema, ObjectMetaSchema } from '../core/meta.ts';

export const IPBlockSchema = object('IPBlock', {
  cidr: required(1, string),
  except: field(2, array(string)),
});
export type IPBlock = Infer<typeof IPBlockSchema>;

export const NetworkPolicyPeerSchema = object('NetworkPolicyPeer', {
  podSelector: field(1, LabelSelectorSchema),
  namespaceSelector: field(2, LabelSelectorSchema),
  ipBlock: field(3, IPBlockSchema),
});
export type NetworkPolicyPeer = Infer<typeof NetworkPolicyPeerSchema>;

export const NetworkPolicyPortSchema = object('NetworkPolicyPort', {
  protocol: pointer(1, ProtocolSchema),
  port: pointer(2, intOrString),
  endPort: pointer(3, int32),
});
export type NetworkPolicyPort = Infer<typeof NetworkPolicyPortSchema>;

export const NetworkPolicyIngressRuleSchema = object('NetworkPolicyIngressRule', {
  ports: field(1, array(NetworkPolicyPortSchema)),
  from: field(2, array(NetworkPolicyPeerSchema)),
});
export type NetworkPolicyIngressRule = Infer<typeof NetworkPolicyIngressRuleSchema>;

export const NetworkPolicyEgressRuleSchema = object('NetworkPolicyEgressRule', {
  ports: field(1, array(NetworkPolicyPortSchema)),
  to: field(2, array(NetworkPolicyPeerSchema)),
});
export type NetworkPolicyEgressRule = Infer<typeof NetworkPolicyEgressRuleSchema>;

export const NetworkPolicySpecSchema = object('NetworkPolicySpec', {
  podSelector: filled(1, LabelSelectorSchema),
  ingress: field(2, array(NetworkPolicyIngressRuleSchema)),
  egress: field(3, array(NetworkPolicyEgressRuleSchema)),
  policyTypes: field(4, array(oneOf('Egress', 'Ingress'))),
});
export type NetworkPolicySpec = Infer<typeof NetworkPolicySpecSchema>;

export const NetworkPolicySchema = object('NetworkPolicy', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, NetworkPolicySpecSchema),
});
export type NetworkPolicy = Infer<typeof NetworkPolicySchema>;
