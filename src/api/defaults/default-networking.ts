import type { IngressClass } from '../networking/ingress-class.ts';
import type { NetworkPolicy, NetworkPolicyPort } from '../networking/network-policy.ts';

/** A copy with the defaults that the API server sets. */
export function defaultIngressClass(ingressClass: IngressClass): IngressClass {
  const { parameters } = ingressClass.spec;
  if (parameters === undefined || parameters.scope !== undefined) return ingressClass;
  return { ...ingressClass, spec: { ...ingressClass.spec, parameters: { ...parameters, scope: 'Cluster' } } };
}

/** A copy with the defaults that the API server sets. */
export function defaultNetworkPolicy(policy: NetworkPolicy): NetworkPolicy {
  const { policyTypes = [], ingress, egress } = policy.spec;
  return {
    ...policy,
    spec: {
      ...policy.spec,
      ...(ingress !== undefined && { ingress: ingress.map(withProtocols) }),
      ...(egress !== undefined && { egress: egress.map(withProtocols) }),
      policyTypes:
        policyTypes.length > 0 ? policyTypes : (egress ?? []).length > 0 ? ['Ingress', 'Egress'] : ['Ingress'],
    },
  };
}

function withProtocols<Rule extends { ports?: NetworkPolicyPort[] }>(rule: Rule): Rule {
  return rule.ports === undefined
    ? rule
    : { ...rule, ports: rule.ports.map((port) => ({ ...port, protocol: port.protocol ?? 'TCP' })) };
}
