import type { ApiObject } from '../../api/client/resource-type.ts';
import { internalError } from '../../api/status/api-status-error.ts';
import type { AdmissionAttributes } from '../model/admission.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';

/**
 * Returns the version of the request's kind that the rules match: that of the request or, with `matchPolicy:
 * Equivalent`, another served version of the same objects. It is undefined if the rules match none (upstream:
 * webhook/generic ShouldCallHook).
 */
export function matchedVersion(
  attributes: AdmissionAttributes,
  matchPolicy: 'Exact' | 'Equivalent' | undefined,
  matches: (attributes: AdmissionAttributes) => boolean,
): ResourceDefinition | undefined {
  const { definition } = attributes;
  if (matches(attributes)) return definition;
  if (matchPolicy === 'Exact') return undefined;
  return definition.siblings?.().find((sibling) => matches({ ...attributes, definition: sibling }));
}

/** Converts the request to another version of its kind. Throws `InternalError` if the conversion fails. */
export async function inVersion(
  attributes: AdmissionAttributes,
  definition: ResourceDefinition,
): Promise<AdmissionAttributes> {
  if (definition === attributes.definition) return attributes;
  const { definition: own, subresource, object, oldObject } = attributes;
  const shown = async (each: ApiObject | undefined): Promise<ApiObject | undefined> =>
    each && objectInVersion(each, own, definition);
  // The body of such a subresource has a separate kind, which is the same in all versions.
  const isWhole = own.views?.find(({ name }) => name === subresource)?.kind === undefined;
  try {
    return {
      ...attributes,
      definition,
      requested: own,
      object: isWhole ? await shown(object) : object,
      oldObject: await shown(oldObject),
    };
  } catch (error) {
    throw internalError(error);
  }
}

/** Converts an object to another version, via the stored version. */
export async function objectInVersion(
  object: ApiObject,
  from: ResourceDefinition,
  to: ResourceDefinition,
): Promise<ApiObject> {
  if (from === to) return object;
  const stored = (await from.storedAs?.toStored(object)) ?? object;
  await to.storedAs?.prepare?.([stored]);
  return to.storedAs?.fromStored(stored) ?? stored;
}
