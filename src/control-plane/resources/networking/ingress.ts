import { ingresses } from '../../../api/client/resource-types.ts';
import type { Ingress, IngressRule } from '../../../api/networking/ingress.ts';
import { IngressSchema } from '../../../api/networking/ingress.ts';
import { INGRESS_CLASS_ANNOTATION } from '../../../api/networking/ingress-class.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import {
  validateIngress,
  validateIngressStatus,
  validateIngressUpdate,
} from '../../../api/validation/network/validate-ingress.ts';
import { defineResource } from '../define-resource.ts';
import { balancerAddresses } from '../print-cells.ts';

const SHOWN_HOSTS = 3;

function formatHosts(rules: readonly IngressRule[]): string {
  const hosts = rules.map(({ host = '' }) => host).filter((host) => host !== '');
  if (hosts.length === 0) return '*';
  const text = hosts.slice(0, SHOWN_HOSTS).join(',');
  // As upstream, rules are counted, with those that have no host.
  const isCut = hosts.length > SHOWN_HOSTS || (hosts.length === SHOWN_HOSTS && (rules.at(-1)?.host ?? '') === '');
  return isCut ? `${text} + ${rules.length - SHOWN_HOSTS} more...` : text;
}

export const ingressResource = defineResource<Ingress>({
  type: ingresses,
  singular: 'ingress',
  shortNames: ['ing'],
  schema: IngressSchema,
  storagePath: 'ingress',
  rules: {
    applyDefaults: (ingress) => ingress,
    prepareForCreate: (ingress) => ({ ...ingress, status: { loadBalancer: {} } }),
    validate: validateIngress,
    validateName: checkDnsSubdomain,
    validateUpdate: validateIngressUpdate,
    validateStatusUpdate: validateIngressStatus,
    warnings: ({ metadata, spec }, old) =>
      old === undefined &&
      metadata.annotations?.[INGRESS_CLASS_ANNOTATION] !== undefined &&
      spec.ingressClassName === undefined
        ? [`annotation "${INGRESS_CLASS_ANNOTATION}" is deprecated, please use 'spec.ingressClassName' instead`]
        : [],
  },
  hasStatus: true,
  countsGeneration: true,
  columns: [
    {
      name: 'Class',
      type: 'string',
      description: 'Its IngressClass.',
      cell: ({ spec }) => spec.ingressClassName ?? '<none>',
    },
    {
      name: 'Hosts',
      type: 'string',
      description: 'The hosts of its rules.',
      cell: ({ spec }) => formatHosts(spec.rules ?? []),
    },
    {
      name: 'Address',
      type: 'string',
      description: 'The addresses of its load balancer.',
      cell: ({ status }) => balancerAddresses(status?.loadBalancer?.ingress ?? [])[0] ?? '',
    },
    {
      name: 'Ports',
      type: 'string',
      description: 'The ports that are open.',
      cell: ({ spec }) => ((spec.tls ?? []).length > 0 ? '80, 443' : '80'),
    },
  ],
});
