import type { ParamKind, ParamRef } from '../../../api/admissionregistration/policy-parts.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import { matchesLabelSelector } from '../../../api/selectors.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { AdmissionAttributes } from '../../model/admission.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { namespaceOf } from '../webhooks/match-webhook.ts';

/** Returns the kind with this apiVersion and kind, if it is served. */
export type FindKind = (apiVersion: string, kind: string) => FoundKind | undefined;

/** The properties of a kind of parameters. Its objects may be stored in another version. */
export type FoundKind = Pick<ResourceDefinition, 'type' | 'storedAs'>;

/**
 * The objects that configure a policy for a request, or why they cannot be found (upstream: policy/generic
 * policy_matcher.go CollectParams). Undefined for a binding without parameters.
 */
export async function findParams(
  { paramKind, paramRef }: { readonly paramKind?: ParamKind; readonly paramRef?: ParamRef },
  attributes: AdmissionAttributes,
  { reader, findKind }: { readonly reader: ObjectReader; readonly findKind: FindKind },
): Promise<readonly { readonly object: ApiObject; readonly type: ResourceType }[] | string | undefined> {
  if (paramKind === undefined || paramRef === undefined) return undefined;
  const kind = findKind(paramKind.apiVersion ?? '', paramKind.kind ?? '');
  const shown = `${paramKind.apiVersion}, Kind=${paramKind.kind}`;
  if (kind === undefined)
    return `failed to configure policy: failed to find resource referenced by paramKind: '${shown}'`;
  const { type } = kind;
  const { name = '', namespace: wanted = '', selector } = paramRef;
  if (!type.namespaced && wanted !== '')
    return `failed to configure binding: paramRef.namespace must not be provided for a cluster-scoped \`paramKind\``;
  const namespace = type.namespaced ? wanted || namespaceOf(attributes) : '';
  if (type.namespaced && namespace === '')
    return `failed to configure binding: cannot use namespaced paramRef in policy binding that matches cluster-scoped resources`;
  const found =
    name === ''
      ? reader.list(type, namespace).filter(({ metadata }) => matchesLabelSelector(selector, metadata.labels ?? {}))
      : [reader.get(type, { namespace, name })].filter((object) => object !== undefined);
  if (found.length > 0) return shownIn(kind, found);
  return paramRef.parameterNotFoundAction === 'Allow'
    ? []
    : 'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction';
}

/** Converts the objects to the version that the policy names. */
async function shownIn(
  { type, storedAs }: FoundKind,
  found: readonly ApiObject[],
): Promise<readonly { readonly object: ApiObject; readonly type: ResourceType }[] | string> {
  try {
    await storedAs?.prepare?.(found);
    return found.map((object) => ({ object: storedAs?.fromStored(object) ?? object, type }));
  } catch (error) {
    return `failed to configure policy: ${errorMessage(error)}`;
  }
}
