import { ingressClasses, ingresses } from '../../api/client/resource-types.ts';
import { DEFAULT_INGRESS_CLASS_ANNOTATION, INGRESS_CLASS_ANNOTATION } from '../../api/networking/ingress-class.ts';
import type { IngressClass } from '../../api/networking/ingress-class.ts';
import type { AdmissionPlugin } from '../model/admission.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import { isAbout, objectOf } from './attributes.ts';

/** Sets the default class of an Ingress that names none. Upstream: DefaultIngressClass. */
export function createDefaultIngressClass(reader: ObjectReader): AdmissionPlugin {
  return {
    name: 'DefaultIngressClass',
    handles: (attributes) => attributes.operation === 'CREATE' && isAbout(attributes, ingresses),
    mutate(attributes) {
      const ingress = objectOf(attributes, ingresses);
      if (ingress.spec.ingressClassName !== undefined) return ingress;
      if (ingress.metadata.annotations?.[INGRESS_CLASS_ANNOTATION] !== undefined) return ingress;
      const [newest] = reader.list(ingressClasses, '').filter(isDefault).sort(newestFirst);
      return newest === undefined
        ? ingress
        : { ...ingress, spec: { ...ingress.spec, ingressClassName: newest.metadata.name } };
    },
  };
}

const isDefault = ({ metadata }: IngressClass): boolean =>
  metadata.annotations?.[DEFAULT_INGRESS_CLASS_ANNOTATION] === 'true';

/** Sorts classes: newest first, and those of the same age by name. */
function newestFirst({ metadata: one }: IngressClass, { metadata: other }: IngressClass): number {
  const [left = '', right = ''] = [one.creationTimestamp, other.creationTimestamp];
  if (left !== right) return left > right ? -1 : 1;
  return one.name < other.name ? -1 : 1;
}
