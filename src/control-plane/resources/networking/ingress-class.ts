import { ingressClasses } from '../../../api/client/resource-types.ts';
import { defaultIngressClass } from '../../../api/defaults/default-networking.ts';
import type { IngressClass } from '../../../api/networking/ingress-class.ts';
import { DEFAULT_INGRESS_CLASS_ANNOTATION, IngressClassSchema } from '../../../api/networking/ingress-class.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import {
  validateIngressClass,
  validateIngressClassUpdate,
} from '../../../api/validation/network/validate-ingress-class.ts';
import { defineResource } from '../define-resource.ts';

const isDefault = ({ metadata }: IngressClass): boolean =>
  metadata.annotations?.[DEFAULT_INGRESS_CLASS_ANNOTATION] === 'true';

function formatParameters({ spec: { parameters } }: IngressClass): string {
  if (parameters === undefined) return '<none>';
  const { apiGroup, kind, name } = parameters;
  return `${kind}${apiGroup === undefined ? '' : `.${apiGroup}`}/${name}`;
}

export const ingressClassResource = defineResource<IngressClass>({
  type: ingressClasses,
  singular: 'ingressclass',
  schema: IngressClassSchema,
  storagePath: 'ingressclasses',
  rules: {
    applyDefaults: defaultIngressClass,
    validate: validateIngressClass,
    validateName: checkDnsSubdomain,
    validateUpdate: validateIngressClassUpdate,
  },
  countsGeneration: true,
  columns: [
    {
      name: 'Name',
      type: 'string',
      format: 'name',
      description: 'Its name, and whether Ingresses without a class get it.',
      cell: (ingressClass) => `${ingressClass.metadata.name}${isDefault(ingressClass) ? ' (default)' : ''}`,
    },
    {
      name: 'Controller',
      type: 'string',
      description: 'The controller that implements it.',
      cell: ({ spec }) => spec.controller ?? '',
    },
    {
      name: 'Parameters',
      type: 'string',
      description: 'The object with its settings.',
      cell: formatParameters,
    },
  ],
});
