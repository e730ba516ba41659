import type { ApiObject } from '../../../api/client/resource-type.ts';
import { ApiStatusError, badRequest, conflict, notFound } from '../../../api/status/api-status-error.ts';
import { runAtPace } from '../../../base/steps.ts';
import { applyGradually } from '../../patch/apply.ts';
import { applyJsonPatch } from '../../patch/json-patch.ts';
import { applyMergePatch } from '../../patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../../patch/strategic-merge-patch.ts';
import { createDecoded } from './create-object.ts';
import { decodeBody } from './decode-body.ts';
import { decodePatched } from './decode-patched.ts';
import { computeApplyDoubts } from './field-doubts.ts';
import { checkPlace, requireName } from './object-metadata.ts';
import type { PatchBody, ResourceRequest, Written } from '../registry.ts';
import { wireValue } from '../cache/stored-form.ts';
import { bodyKind, otherVersions, readPart, resetFields } from '../subresources.ts';
import { changeObject } from './update-object.ts';
import { requireCreate } from './write-tools.ts';
import type { WriteTools } from './write-tools.ts';

/** Patches an object (PATCH). After each conflict, the patch is applied to the latest version. */
export async function patchObject(tools: WriteTools, request: ResourceRequest, patch: PatchBody): Promise<Written> {
  const { definition, name, subresource } = request;
  if (patch.type === 'strategic' && definition.readBody !== undefined) throw notStrategic();
  const apply = patch.type === 'apply';
  const propose = (current: ApiObject): Promise<ApiObject> =>
    apply ? applied(tools, request, patch, current) : patched(tools, request, patch, current);
  const asPatch = { ...request, context: { ...request.context, isPatch: true } };
  const written = await changeObject(tools, asPatch, { propose, tracked: apply, isPatch: true, conditional: false });
  if (written !== undefined) return written;
  if (!apply || subresource !== '') throw notFound(definition.type, name);
  await requireCreate(tools, request);
  const proposed = await applied(tools, request, patch, undefined);
  const { uid } = proposed.metadata;
  if (uid !== '')
    throw conflict(
      definition.type,
      name,
      `uid mismatch: the provided object specified uid ${uid}, and no existing object was found`,
    );
  const { object, json } = await createDecoded(tools, request, proposed, 'tracked');
  return { object, json, created: true };
}

/** Builds the error for a strategic patch of a custom kind, which has no merge keys. */
const notStrategic = (): ApiStatusError =>
  new ApiStatusError(
    'UnsupportedMediaType',
    'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml',
  );

async function patched(
  tools: WriteTools,
  request: ResourceRequest,
  patch: PatchBody,
  current: ApiObject,
): Promise<ApiObject> {
  const { definition, subresource } = request;
  const part = readPart(definition, subresource, current);
  const document = part === current ? wireValue(definition, current) : { ...part };
  const changed = patchedDocument(request, patch, document);
  await tools.pace.rest();
  const decoded = decodePatched(changed, patch, {
    expected: bodyKind(definition, subresource),
    context: request.context,
  });
  requireName(decoded, request.name);
  return placed(request, decoded);
}

function patchedDocument(
  { definition, subresource }: ResourceRequest,
  { type, value }: PatchBody,
  document: Readonly<Record<string, unknown>>,
): unknown {
  switch (type) {
    case 'json':
      return applyJsonPatch(document, value);
    case 'merge':
      return applyMergePatch(document, value);
    case 'strategic':
    case 'apply':
      return applyStrategicMergePatch(bodyKind(definition, subresource).schema, document, value);
  }
}

async function applied(
  tools: WriteTools,
  request: ResourceRequest,
  patch: PatchBody,
  current: ApiObject | undefined,
): Promise<ApiObject> {
  const { definition, subresource, context } = request;
  if (context.fieldManager === '') throw badRequest('fieldManager is required for apply patch');
  const steps = applyGradually({
    schema: definition.schema,
    kind: definition.type,
    live: current,
    config: patch.value,
    manager: context.fieldManager,
    force: context.force === true,
    subresource,
    nowMs: tools.clock.nowMs(),
    resetFields: resetFields(definition, subresource),
    versions: otherVersions(definition),
  });
  const { object } = await runAtPace(steps, () => tools.pace.rest());
  if (context.fieldValidation !== 'Ignore') {
    const doubts = computeApplyDoubts(patch);
    if (doubts !== undefined && context.fieldValidation === 'Strict') throw badRequest(doubts.refusal);
    for (const doubt of doubts?.warnings ?? []) context.warn(doubt);
  }
  await tools.pace.rest();
  const decoded = decodeBody({ value: object, duplicates: [] }, bodyKind(definition, subresource), context);
  if (current === undefined) requireName(decoded, request.name);
  return placed(request, decoded);
}

function placed({ definition, namespace, name }: ResourceRequest, decoded: ApiObject): ApiObject {
  checkPlace(decoded, { namespaced: definition.type.namespaced, namespace, name });
  return {
    ...decoded,
    metadata: {
      ...decoded.metadata,
      name,
      namespace: definition.type.namespaced ? namespace : '',
    },
  };
}
