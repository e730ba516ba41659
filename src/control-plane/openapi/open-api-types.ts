/** The parts of OpenAPI 2 and 3 that Kubernetes' documents use, as plain data that is serialized unchanged. */

export interface GroupVersionKind {
  readonly group: string;
  readonly kind: string;
  readonly version: string;
}

export interface OpenApiSchema {
  readonly $ref?: string;
  readonly allOf?: readonly OpenApiSchema[];
  readonly oneOf?: readonly OpenApiSchema[];
  readonly description?: string;
  readonly type?: string;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly items?: OpenApiSchema;
  readonly additionalProperties?: OpenApiSchema;
  readonly properties?: Readonly<Record<string, OpenApiSchema>>;
  readonly required?: readonly string[];
  readonly 'x-kubernetes-list-type'?: string;
  readonly 'x-kubernetes-list-map-keys'?: readonly string[];
  readonly 'x-kubernetes-map-type'?: string;
  readonly 'x-kubernetes-patch-merge-key'?: string;
  readonly 'x-kubernetes-patch-strategy'?: string;
  readonly 'x-kubernetes-group-version-kind'?: readonly GroupVersionKind[];
}

/** The differences between the two versions. */
export interface Dialect {
  readonly version: 2 | 3;
  readonly refPrefix: string;
}

export const dialect2: Dialect = { version: 2, refPrefix: '#/definitions/' };
export const dialect3: Dialect = { version: 3, refPrefix: '#/components/schemas/' };

export type HttpMethod = 'get' | 'put' | 'post' | 'delete' | 'options' | 'head' | 'patch';

export interface Parameter {
  readonly name: string;
  readonly in: 'query' | 'path';
  readonly type: 'string' | 'boolean' | 'integer';
  readonly description: string;
}

/** One method of one path, independent of the dialect. Schemas are named by the full names of definitions. */
export interface Operation {
  readonly path: string;
  readonly method: HttpMethod;
  readonly id: string;
  readonly tag: string;
  readonly description: string;
  readonly action: string;
  readonly kind: GroupVersionKind;
  readonly query: readonly Parameter[];
  /** The parameters of the path, which are the same for all its methods. */
  readonly pathParameters: readonly Parameter[];
  readonly body?: { readonly definition: string; readonly required: boolean; readonly patch?: boolean };
  /** The response codes; a string instead of an object if there is no definition. */
  readonly answers: readonly { readonly code: number; readonly definition: string | undefined }[];
  readonly streams?: boolean;
}
