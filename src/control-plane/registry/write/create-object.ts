import type { ApiObject } from '../../../api/client/resource-type.ts';
import { apiVersionOf, formatKey } from '../../../api/client/resource-type.ts';
import { decodeAny } from '../../../api/schema/decode.ts';
import { generateName } from '../../../api/generate-name.ts';
import {
  alreadyExists,
  ApiStatusError,
  badRequest,
  forbidden,
  formatGroupResource,
  invalid,
} from '../../../api/status/api-status-error.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { trackWrite } from '../../patch/managed-fields.ts';
import { decodeBody } from './decode-body.ts';
import { checkPlace, metadataForCreate, validateMetadata } from './object-metadata.ts';
import type { ResourceRequest, Served, WriteBody } from '../registry.ts';
import { waitUntilInitialized } from './wait-until-initialized.ts';
import { bodyKind, resetFields } from '../subresources.ts';
import {
  admitMutating,
  admitValidating,
  attributesOf,
  kindOf,
  preparePut,
  requestFacts,
  servedAsIfStored,
  shownServed,
  withLongChecks,
} from './write-tools.ts';
import type { WriteTools } from './write-tools.ts';

/** The number of attempts for a generated name that is taken (upstream: RetryGenerateName). */
const NAME_ATTEMPTS = 8;

/** Creates an object (POST). */
export async function createObject(tools: WriteTools, request: ResourceRequest, body: WriteBody): Promise<Served> {
  const { definition, context } = request;
  const decoded = decodeBody(body, bodyKind(definition, ''), context);
  await tools.pace.rest();
  if (decoded.metadata.resourceVersion !== undefined && decoded.metadata.resourceVersion !== '')
    throw badRequest('resourceVersion should not be set on objects to be created');
  return createDecoded(tools, request, decoded, 'update');
}

/** Creates a decoded object. `tracked` means that the field owners are already set (server-side apply). */
export async function createDecoded(
  tools: WriteTools,
  request: ResourceRequest,
  decoded: ApiObject,
  fields: 'update' | 'tracked',
): Promise<Served> {
  const { definition, namespace } = request;
  if (definition.refusesCreation !== undefined)
    throw forbidden(definition.type, decoded.metadata.name, definition.refusesCreation);
  checkPlace(decoded, { namespaced: definition.type.namespaced, namespace, name: request.name });
  const { generateName: prefix = '' } = decoded.metadata;
  const generated = decoded.metadata.name === '' && prefix !== '';
  for (let attempt = 1; ; attempt++) {
    const name = generated ? generateName(prefix, tools.random) : decoded.metadata.name;
    const draft = { ...decoded, metadata: { ...decoded.metadata, name } };
    try {
      const created = await createNamed(tools, request, draft, fields);
      return await waitUntilInitialized(tools, request, created);
    } catch (error) {
      const taken = generated && error instanceof ApiStatusError && error.reason === 'AlreadyExists';
      if (!taken) throw error;
      if (attempt === NAME_ATTEMPTS) throw generatedNameTaken(definition.type, name);
    }
  }
}

async function createNamed(
  tools: WriteTools,
  request: ResourceRequest,
  draft: ApiObject,
  fields: 'update' | 'tracked',
): Promise<Served> {
  const { definition, context } = request;
  const { rules } = definition;
  // Many manifests name a namespace for cluster-scoped objects.
  const namespace = definition.type.namespaced ? request.namespace : '';
  const metadata = metadataForCreate(draft.metadata, {
    uid: tools.random.uuid(),
    nowMs: tools.clock.nowMs(),
    namespace,
  });
  const defaulted = rules.applyDefaults({ ...draft, metadata });
  await tools.pace.rest();
  const owned = fields === 'tracked' ? defaulted : ownedByCreator(tools, request, defaulted);
  await tools.pace.rest();
  const admitted =
    (await admitMutating(tools, attributesOf(request, 'CREATE', { object: owned, oldObject: undefined }))) ?? owned;
  const object = prepare(tools, request, admitted === owned ? admitted : rules.applyDefaults(admitted));
  await tools.pace.rest();
  const errors = await withLongChecks(request, { object, old: undefined }, [
    ...validateMetadata(definition, object.metadata),
    ...rules.validate(object, tools.policy),
  ]);
  await tools.pace.rest();
  if (errors.length > 0) throw invalid(kindOf(definition), object.metadata.name, errors);
  for (const warning of rules.warnings?.(object, undefined) ?? []) context.warn(warning);
  await tools.pace.rest();
  await admitValidating(tools, attributesOf(request, 'CREATE', { object, oldObject: undefined }));
  return store(tools, request, object);
}

function ownedByCreator(tools: WriteTools, request: ResourceRequest, object: ApiObject): ApiObject {
  const { definition, context } = request;
  return trackWrite({
    schema: definition.schema,
    apiVersion: apiVersionOf(definition.type),
    old: undefined,
    new: object,
    manager: context.fieldManager,
    subresource: '',
    nowMs: tools.clock.nowMs(),
    resetFields: definition.createsWithStatus === true ? [] : resetFields(definition, ''),
  });
}

function prepare(tools: WriteTools, request: ResourceRequest, object: ApiObject): ApiObject {
  const { definition, context } = request;
  let draft: ApiObject & { status?: unknown } = object;
  if (definition.hasStatus === true && definition.createsWithStatus !== true && draft.status !== undefined) {
    const { status: _, ...rest } = draft;
    draft = definition.rules.applyDefaults(rest);
  }
  if (definition.countsGeneration === true && definition.startsWithoutGeneration !== true)
    draft = { ...draft, metadata: { ...draft.metadata, generation: 1 } };
  return withEmptyStatus(definition, definition.rules.prepareForCreate?.(draft, requestFacts(tools, context)) ?? draft);
}

/** Adds an empty status. A status is a struct in Go, so it always exists, and a JSON patch can add fields to it. */
function withEmptyStatus(definition: ResourceDefinition, object: ApiObject & { status?: unknown }): ApiObject {
  const isStruct = definition.hasStatus === true && definition.schema.custom === undefined;
  const status = isStruct ? definition.schema.fields.status : undefined;
  if (status === undefined || object.status !== undefined) return object;
  return { ...object, status: decodeAny(status.schema, {}).value } as ApiObject;
}

async function store(tools: WriteTools, request: ResourceRequest, object: ApiObject): Promise<Served> {
  const { definition, context } = request;
  const existing = (): ApiObject | undefined =>
    tools.cache.kind(definition).objects.get(formatKey(object.metadata))?.object;
  const allocated = await definition.allocate?.(object, undefined, tools.claims(context.dryRun));
  const whole = allocated?.object ?? object;
  // It is undefined while it is unknown whether the store has the object. Its allocations are then kept; the repair
  // releases them later if the object does not exist.
  let stored: boolean | undefined = false;
  try {
    if (context.dryRun) {
      await tools.cache.fresh();
      if (existing() !== undefined) throw nameTaken(definition, object, existing());
      return servedAsIfStored(definition, whole, undefined);
    }
    const put = preparePut(
      tools,
      tools.definitions.storedOf(definition),
      (await definition.storedAs?.toStored(whole)) ?? whole,
      undefined,
    );
    stored = undefined;
    const result = await put();
    stored = !('conflict' in result);
    if ('conflict' in result) throw nameTaken(definition, object, existing());
    return await shownServed(definition, result.served);
  } finally {
    if (stored !== undefined) await allocated?.settle(stored);
  }
}

/**
 * Builds the error for a taken name. It tells the client if the object is being deleted, because the same create
 * succeeds later.
 */
function nameTaken({ type }: ResourceDefinition, object: ApiObject, existing: ApiObject | undefined): ApiStatusError {
  const error = alreadyExists(type, object.metadata.name);
  if (existing?.metadata.deletionTimestamp === undefined) return error;
  return new ApiStatusError('AlreadyExists', `object is being deleted: ${error.message}`, error.details);
}

function generatedNameTaken(type: { readonly group: string; readonly plural: string }, name: string): ApiStatusError {
  const details = { name, ...(type.group !== '' && { group: type.group }), kind: type.plural, retryAfterSeconds: 1 };
  return new ApiStatusError(
    'AlreadyExists',
    `${formatGroupResource(type)} ${JSON.stringify(name)} already exists, the server was not able to generate a unique name for the object`,
    details,
  );
}
