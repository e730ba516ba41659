import type { ApiObject, ObjectKey, ResourceType } from '../../../api/client/resource-type.ts';
import type { Status } from '../../../api/status/status.ts';
import { ApiStatusError, notFound } from '../../../api/status/api-status-error.ts';
import type { ActionAccess, ResourceDefinition, ReviewAccess } from '../../model/resource-definition.ts';
import { decodeBody } from './decode-body.ts';
import { deleteObject } from './delete-object.ts';
import { checkPlace } from './object-metadata.ts';
import type { ResourceRequest, Served, WriteBody } from '../registry.ts';
import { actionOf } from '../subresources.ts';
import { changeObject } from './update-object.ts';
import {
  admitMutating,
  admitValidating,
  attributesOf,
  currentObject,
  requestFacts,
  servedBody,
  toolsFor,
} from './write-tools.ts';
import type { WriteTools } from './write-tools.ts';

/** Runs the action of a subresource (POST): `binding`, `eviction`, `token`. */
export async function runAction(tools: WriteTools, request: ResourceRequest, body: WriteBody): Promise<Served> {
  const { definition, namespace, name, context } = request;
  const action = actionOf(definition, request.subresource);
  const decoded = decodeBody(body, { ...action.kind, schema: action.schema }, context);
  checkPlace(decoded, { namespaced: definition.type.namespaced, namespace, name });
  const whole = { ...decoded, metadata: { ...decoded.metadata, name, namespace } };
  const admitted =
    (await admitMutating(tools, attributesOf(request, 'CREATE', { object: whole, oldObject: undefined }))) ?? whole;
  await admitValidating(tools, attributesOf(request, 'CREATE', { object: admitted, oldObject: undefined }));
  return servedBody(await action.perform(createAccess(tools, request), admitted));
}

/** Runs a review or a binding, whose object is returned and not stored. */
export async function runReview(tools: WriteTools, request: ResourceRequest, body: WriteBody): Promise<Served> {
  const { definition, context, namespace } = request;
  const decoded = decodeBody(body, { ...definition.type, schema: definition.schema }, context);
  checkPlace(decoded, { namespaced: definition.type.namespaced, namespace, name: '' });
  const object = definition.rules.applyDefaults({ ...decoded, metadata: { ...decoded.metadata, namespace } });
  const admitted =
    (await admitMutating(tools, attributesOf(request, 'CREATE', { object, oldObject: undefined }))) ?? object;
  await admitValidating(tools, attributesOf(request, 'CREATE', { object: admitted, oldObject: undefined }));
  const access: ReviewAccess = {
    ...tools.reviewAccess(context),
    act: (type, name, action, toDo) => act(tools, request, { type, name, action }, toDo),
  };
  const answer = await definition.review?.(admitted, access, requestFacts(tools, context));
  if (answer === undefined) throw new ApiStatusError('MethodNotAllowed', `${definition.type.kind} is not a review`);
  return servedBody(isStatus(answer) ? answer : withoutEmptyNames(answer));
}

const isStatus = (answer: ApiObject | Status): answer is Status => answer.kind === 'Status';

async function act(
  tools: WriteTools,
  request: ResourceRequest,
  { type, name, action }: { readonly type: ResourceType; readonly name: string; readonly action: string },
  body: ApiObject,
): Promise<Status> {
  const definition = tools.definitions.byType(type);
  if (definition === undefined || name === '') throw notFound(type, name);
  const access = createAccess(toolsFor(tools, definition), { ...request, definition, name, subresource: action });
  // Actions that refer to other objects return a Status.
  return (await actionOf(definition, action).perform(access, body)) as Status;
}

function withoutEmptyNames(answer: ApiObject): object {
  const { name, namespace, uid, ...rest } = answer.metadata;
  return {
    ...answer,
    metadata: {
      ...(name !== '' && { name }),
      ...(namespace !== '' && { namespace }),
      ...(uid !== '' && { uid }),
      ...rest,
    },
  };
}

function createAccess(tools: WriteTools, request: ResourceRequest): ActionAccess<ApiObject> {
  const { definition, namespace, name, context } = request;
  return {
    namespace,
    name,
    dryRun: context.dryRun,
    user: context.user,
    nowMs: requestFacts(tools, context).nowMs,
    services: tools.services,
    get: async () => {
      const current = await currentObject(tools, definition, request, true);
      if (current === undefined) throw notFound(definition.type, name);
      return current.object;
    },
    update: (change) => changeStored(tools, { ...request, subresource: '' }, change),
    delete: async ({ gracePeriodSeconds, ...preconditions }) => {
      await deleteObject(
        tools,
        { ...request, subresource: '' },
        { ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }), preconditions },
      );
    },
    list: (type, of) => tools.reader.list(type, of),
    updateOther: <U extends ApiObject>(
      type: ResourceType<U>,
      key: ObjectKey,
      change: (current: U) => U,
      subresource?: 'status',
    ) =>
      // The definition determines the type of a kind's objects.
      changeStored(
        tools,
        { ...request, ...key, definition: definitionOf(tools, type), subresource: subresource ?? '' },
        (current) => change(current as U),
      ) as Promise<U>,
  };
}

function definitionOf(tools: WriteTools, type: ResourceType): ResourceDefinition {
  const definition = tools.definitions.byType(type);
  if (definition === undefined) throw new ApiStatusError('InternalError', `no definition of ${type.plural}`);
  return definition;
}

/** Stores the change of an action. It is not a write by the user, so the rules for users' updates do not apply. */
async function changeStored(
  tools: WriteTools,
  request: ResourceRequest,
  change: (current: ApiObject) => ApiObject,
): Promise<ApiObject> {
  const written = await changeObject(toolsFor(tools, request.definition), request, {
    propose: change,
    conditional: false,
    bySystem: true,
  });
  if (written === undefined) throw notFound(request.definition.type, request.name);
  return written.object;
}
