import { apiVersionOf } from '../../api/client/resource-type.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { notFound } from '../../api/status/api-status-error.ts';
import type { ClusterPolicy } from '../../api/validation/cluster-policy.ts';
import type { FieldError } from '../../api/validation/field-error.ts';
import type {
  RequestFacts,
  ResourceDefinition,
  SubresourceAction,
  SubresourceView,
} from '../model/resource-definition.ts';
import type { BodyKind } from './write/decode-body.ts';

/**
 * Returns the view of an object that a subresource writes: `status`, which is the same for all kinds, or a view of the
 * kind.
 */
function viewOf(definition: ResourceDefinition, subresource: string): SubresourceView<ApiObject> {
  const view = definition.views?.find((each) => each.name === subresource);
  if (view === undefined) throw notFound(definition.type, subresource);
  return view;
}

export function actionOf(definition: ResourceDefinition, subresource: string): SubresourceAction<ApiObject> {
  const action = definition.actions?.find((each) => each.name === subresource);
  if (action === undefined) throw notFound(definition.type, subresource);
  return action;
}

/**
 * Returns the other versions in which managed fields of a kind count. The versions of a custom kind have the same
 * paths.
 */
export function otherVersions({ siblings }: ResourceDefinition): readonly string[] {
  return siblings?.().map(({ type }) => apiVersionOf(type)) ?? [];
}

const ownKind = (subresource: string): boolean => subresource === '' || subresource === 'status';

/** Returns the type of the subresource's body. */
export function bodyKind(definition: ResourceDefinition, subresource: string): BodyKind {
  const hideValues = definition.hideValues === true && { hideValues: true };
  const own = {
    schema: definition.schema,
    ...(definition.readBody !== undefined && { readBody: definition.readBody }),
  };
  if (ownKind(subresource)) return { ...definition.type, ...own, ...hideValues };
  const view = viewOf(definition, subresource);
  const shape = view.schema === undefined ? own : { schema: view.schema };
  return { ...(view.kind ?? definition.type), ...shape, ...hideValues };
}

/** Returns the object as the subresource shows it, for responses and as the base of patches. */
export function readPart(definition: ResourceDefinition, subresource: string, object: ApiObject): ApiObject {
  return ownKind(subresource) ? object : (viewOf(definition, subresource).read?.(object) ?? object);
}

/** Returns the object for admission: the whole object, or the body if the subresource has a kind of its own. */
export function shownAs(
  definition: ResourceDefinition,
  subresource: string,
  object: ApiObject,
  body: ApiObject,
): ApiObject {
  return ownKind(subresource) || viewOf(definition, subresource).kind === undefined ? object : body;
}

interface Parts {
  readonly old: ApiObject;
  readonly body: ApiObject;
  readonly facts: RequestFacts;
}

type WithStatus = ApiObject & { status?: unknown };

/**
 * Returns the whole object after a write of `body`. A write to the object keeps the status, and a write to the status
 * keeps all other fields.
 */
export function writePart(definition: ResourceDefinition, subresource: string, { old, body, facts }: Parts): ApiObject {
  const { rules } = definition;
  if (subresource === '') {
    const defaulted: WithStatus = rules.applyDefaults(body);
    const next = definition.hasStatus === true ? withStatus(defaulted, (old as WithStatus).status) : defaulted;
    return rules.prepareForUpdate?.(next, old, facts) ?? next;
  }
  if (subresource === 'status') {
    const next: WithStatus = withStatus(
      { ...old, metadata: body.metadata },
      (rules.applyDefaults(body) as WithStatus).status,
    );
    return rules.prepareForStatusUpdate?.(next, old, facts) ?? next;
  }
  return viewOf(definition, subresource).write(old, body, facts);
}

function withStatus(object: WithStatus, status: unknown): ApiObject {
  const { status: _, ...rest } = object;
  return { ...rest, ...(status !== undefined && { status }) };
}

export function validatePart(
  definition: ResourceDefinition,
  subresource: string,
  { object, old, policy }: { readonly object: ApiObject; readonly old: ApiObject; readonly policy: ClusterPolicy },
): readonly FieldError[] {
  const { rules } = definition;
  if (subresource === '') return rules.validateUpdate(object, old, policy);
  if (subresource === 'status') return rules.validateStatusUpdate?.(object, old, policy) ?? [];
  return viewOf(definition, subresource).validate(object, old, policy);
}

/** Returns the fields that writers of the subresource can never own, because their writes to them are dropped. */
export function resetFields(definition: ResourceDefinition, subresource: string): readonly string[] {
  const { hasStatus, resetFields: own } = definition;
  if (subresource === '') return own?.object ?? (hasStatus === true ? ['status'] : []);
  return subresource === 'status' ? (own?.status ?? ['spec']) : [];
}
