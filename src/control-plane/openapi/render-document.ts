import type { ResourceDefinition } from '../model/resource-definition.ts';
import type { Kinds } from './definitions.ts';
import { dialect2, dialect3 } from './open-api-types.ts';
import type { Operation, Parameter } from './open-api-types.ts';
import { basePath, operationsOf } from './operations.ts';

export type JsonObject = Readonly<Record<string, unknown>>;

const readTypes = ['application/json', 'application/yaml'];
const streamTypes = [...readTypes, 'application/json;stream=watch'];
const patchTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
];

const info = (version: string): JsonObject => ({ title: 'Kubernetes', version });
const unauthorized = { description: 'Unauthorized' };
const words: Readonly<Record<number, string>> = { 200: 'OK', 201: 'Created', 202: 'Accepted' };

/** Builds the OpenAPI 2 document of all kinds. */
export function renderV2(
  definitions: readonly ResourceDefinition[],
  kinds: Kinds,
  version: string,
): JsonObject & { readonly paths: JsonObject; readonly definitions: JsonObject } {
  return {
    swagger: '2.0',
    info: info(version),
    paths: pathsOf(
      definitions.flatMap((definition) => operationsOf(definition, kinds)),
      operationV2,
      parameterV2,
    ),
    definitions: { ...kinds.definitions(dialect2) },
    securityDefinitions: {
      BearerToken: { description: 'Bearer Token authentication', type: 'apiKey', name: 'authorization', in: 'header' },
    },
    security: [{ BearerToken: [] }],
  };
}

/** Builds the OpenAPI 3 document of one group and version. */
export function renderV3(
  definitions: readonly ResourceDefinition[],
  kinds: Kinds,
  groupVersion: { readonly group: string; readonly version: string },
  version: string,
): JsonObject {
  const prefix = `${basePath(groupVersion)}/`;
  const operations = definitions
    .flatMap((definition) => operationsOf(definition, kinds))
    .filter(({ path }) => path.startsWith(prefix));
  return {
    openapi: '3.0.0',
    info: info(version),
    paths: pathsOf(operations, operationV3, parameterV3),
    components: {
      schemas: kinds.definitions(dialect3, groupVersion),
      securitySchemes: {
        BearerToken: {
          type: 'apiKey',
          description: 'Bearer Token authentication',
          name: 'authorization',
          in: 'header',
        },
      },
    },
  };
}

function pathsOf(
  operations: readonly Operation[],
  render: (operation: Operation) => JsonObject,
  parameter: (parameter: Parameter) => JsonObject,
): JsonObject {
  const paths = new Map<string, Record<string, unknown>>();
  for (const operation of operations) {
    const path = paths.get(operation.path) ?? { parameters: operation.pathParameters.map(parameter) };
    path[operation.method] = render(operation);
    paths.set(operation.path, path);
  }
  return Object.fromEntries([...paths].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const common = ({ description, id, tag, action, kind }: Operation): JsonObject => ({
  tags: [tag],
  description,
  operationId: id,
  'x-kubernetes-action': action,
  'x-kubernetes-group-version-kind': kind,
});

function parameterV2({ name, in: place, type, description }: Parameter): JsonObject {
  return { name, in: place, ...(place === 'path' && { required: true }), type, uniqueItems: true, description };
}

function parameterV3({ name, in: place, type, description }: Parameter): JsonObject {
  return {
    name,
    in: place,
    ...(place === 'path' && { required: true }),
    schema: { type, uniqueItems: true },
    description,
  };
}

function operationV2(operation: Operation): JsonObject {
  const { query, body, answers, streams } = operation;
  const ref = (definition: string | undefined): JsonObject =>
    definition === undefined ? { type: 'string' } : { $ref: dialect2.refPrefix + definition };
  const bodies =
    body === undefined
      ? []
      : [{ name: 'body', in: 'body', ...(body.required && { required: true }), schema: ref(body.definition) }];
  const plain = operation.action === 'connect';
  return {
    ...common(operation),
    schemes: ['https'],
    consumes: body?.patch === true ? patchTypes : ['*/*'],
    produces: plain ? ['*/*'] : streams === true ? streamTypes : readTypes,
    parameters: [...bodies, ...query.map(parameterV2)],
    responses: {
      ...Object.fromEntries(
        answers.map(({ code, definition }) => [code, { description: words[code], schema: ref(definition) }]),
      ),
      401: unauthorized,
    },
  };
}

function operationV3(operation: Operation): JsonObject {
  const { query, body, answers, streams } = operation;
  const content = (types: readonly string[], definition: string | undefined): JsonObject => {
    const schema = definition === undefined ? { type: 'string' } : { $ref: dialect3.refPrefix + definition };
    return Object.fromEntries(types.map((type) => [type, { schema }]));
  };
  const answerTypes = (definition: string | undefined): readonly string[] =>
    definition === undefined ? ['*/*'] : streams === true ? streamTypes : readTypes;
  return {
    ...common(operation),
    ...(query.length > 0 && { parameters: query.map(parameterV3) }),
    ...(body !== undefined && {
      requestBody: {
        content: content(body.patch === true ? patchTypes : ['*/*'], body.definition),
        ...(body.required && { required: true }),
      },
    }),
    responses: {
      ...Object.fromEntries(
        answers.map(({ code, definition }) => [
          code,
          { description: words[code], content: content(answerTypes(definition), definition) },
        ]),
      ),
      401: unauthorized,
    },
  };
}
