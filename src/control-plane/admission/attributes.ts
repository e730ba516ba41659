import type { ApiObject, ResourceType } from '../../api/client/resource-type.ts';
import { forbidden } from '../../api/status/api-status-error.ts';
import type { ApiStatusError } from '../../api/status/api-status-error.ts';
import type { AdmissionAttributes } from '../model/admission.ts';

/** Whether the request concerns objects of the kind; without `subresource`, the objects themselves. */
export function isAbout({ definition, subresource }: AdmissionAttributes, type: ResourceType, wanted = ''): boolean {
  return definition.type.group === type.group && definition.type.plural === type.plural && subresource === wanted;
}

/**
 * Returns the object of a request for which `isAbout` is true. It has that kind, because the kind's definition decoded
 * it.
 */
export function objectOf<T extends ApiObject>(attributes: AdmissionAttributes, _type: ResourceType<T>): T {
  return attributes.object as T;
}

export function oldObjectOf<T extends ApiObject>(attributes: AdmissionAttributes, _type: ResourceType<T>): T {
  return attributes.oldObject as T;
}

/** A refusal with admission's message. The name may not be known yet (upstream: admission.NewForbidden). */
export function refusal({ definition, name, object }: AdmissionAttributes, why: string): ApiStatusError {
  const { name: own = '', generateName = '' } = object?.metadata ?? {};
  return forbidden(definition.type, name || own || generateName || 'Unknown', why);
}
