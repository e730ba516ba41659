import type { IngressClass, IngressClassParametersReference } from '../../networking/ingress-class.ts';
import { validateDomainPath } from '../domain-path.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateImmutable } from '../immutable.ts';
import { byteLength, checkDnsLabel } from '../names.ts';
import { validateReference } from './validate-ingress.ts';

const MAX_CONTROLLER_BYTES = 250;

/** Validates an IngressClass, except its metadata (upstream: networking/validation ValidateIngressClass). */
export function validateIngressClass({ spec: { controller = '', parameters } }: IngressClass): FieldError[] {
  const errors = new FieldErrors();
  if (byteLength(controller) > MAX_CONTROLLER_BYTES) errors.tooLong('spec.controller', MAX_CONTROLLER_BYTES);
  validateDomainPath(errors, 'spec.controller', controller);
  if (parameters !== undefined) validateParameters(errors, parameters);
  return errors.list;
}

export function validateIngressClassUpdate(ingressClass: IngressClass, old: IngressClass): FieldError[] {
  const errors = new FieldErrors();
  validateImmutable(errors, 'spec.controller', ingressClass.spec.controller ?? '', old.spec.controller ?? '');
  errors.list.push(...validateIngressClass(ingressClass));
  return errors.list;
}

function validateParameters(errors: FieldErrors, parameters: IngressClassParametersReference): void {
  const path = 'spec.parameters';
  validateReference(errors, path, parameters);
  const { scope, namespace } = parameters;
  if (scope === undefined) return errors.required(`${path}.scope`);
  if (scope !== 'Namespace' && scope !== 'Cluster')
    return errors.notSupported(`${path}.scope`, scope, ['Cluster', 'Namespace']);
  if (scope === 'Cluster') {
    if (namespace !== undefined) errors.forbidden(`${path}.namespace`, "`parameters.scope` is set to 'Cluster'");
  } else if (namespace === undefined) errors.required(`${path}.namespace`, "`parameters.scope` is set to 'Namespace'");
  else errors.invalidEach(`${path}.namespace`, namespace, checkDnsLabel(namespace));
}
