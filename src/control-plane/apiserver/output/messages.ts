import { ObjectMetaSchema, ListMetaSchema } from '../../../api/core/meta.ts';
import { apiVersionOf } from '../../../api/client/resource-type.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { encodeMessage, sealEnvelope } from '../../../api/protobuf/encode-protobuf.ts';
import { planMessage } from '../../../api/protobuf/message-plan.ts';
import { listHead } from '../../../api/protobuf/message-parts.ts';
import { field, object } from '../../../api/schema/schema.ts';
import type { ObjectSchema } from '../../../api/schema/schema.ts';
import { StatusSchema } from '../../../api/status/status.ts';
import type { Status } from '../../../api/status/status.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import type { Served, ServedList } from '../../registry/registry.ts';
import type { MetaVersion } from './negotiate.ts';

/** The facts that a message needs about its kind or subresource. */
export interface MessageKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly schema: ObjectSchema;
}

const PartialObjectMetadataSchema = object('PartialObjectMetadata', { metadata: field(1, ObjectMetaSchema) });

const partialKind = (version: MetaVersion): MessageKind => ({
  apiVersion: `meta.k8s.io/${version}`,
  kind: 'PartialObjectMetadata',
  schema: PartialObjectMetadataSchema,
});

const statusKind: MessageKind = { apiVersion: 'v1', kind: 'Status', schema: StatusSchema };

/** Whether a kind has messages. Custom kinds and kinds without field numbers have none. */
export const hasMessage = ({ readBody, schema }: Pick<ResourceDefinition, 'readBody' | 'schema'>): boolean =>
  readBody === undefined && planMessage(schema) !== undefined;

export const kindOf = ({ type, schema }: Pick<ResourceDefinition, 'type' | 'schema'>): MessageKind => ({
  apiVersion: apiVersionOf(type),
  kind: type.kind,
  schema,
});

/** Returns the kind of the response to a request for a subresource. */
export function answeredKind(definition: ResourceDefinition, subresource: string): MessageKind {
  const part =
    definition.views?.find(({ name }) => name === subresource) ??
    definition.actions?.find(({ name }) => name === subresource);
  if (part?.kind === undefined || part.schema === undefined) return kindOf(definition);
  return { apiVersion: apiVersionOf(part.kind), kind: part.kind.kind, schema: part.schema };
}

const seal = ({ apiVersion, kind }: MessageKind, raw: Uint8Array): Buffer => sealEnvelope({ apiVersion, kind, raw });

export const statusMessage = (status: Status): Buffer => seal(statusKind, encodeMessage(status, StatusSchema));

/** Encodes a message that is not cached. */
export const sealedMessage = (object: ApiObject, kind: MessageKind): Buffer =>
  seal(kind, encodeMessage(object, kind.schema));

/**
 * Caches the messages of objects for all watches of a kind and for repeated lists. Beyond the limit the oldest are
 * dropped, so that protobuf clients do not double the memory of the cache.
 */
export class ObjectMessages {
  readonly #messages = new Map<ApiObject, Buffer>();
  readonly #limitBytes: number;
  #bytes = 0;

  constructor(limitBytes = 16 * 1024 * 1024) {
    this.#limitBytes = limitBytes;
  }

  /** Encodes the object without its envelope. */
  raw(object: ApiObject, schema: ObjectSchema): Buffer {
    const known = this.#messages.get(object);
    if (known !== undefined) return known;
    const message = encodeMessage(object, schema);
    if (message.length > this.#limitBytes / 4) return message;
    this.#messages.set(object, message);
    this.#bytes += message.length;
    for (const [oldest, { length }] of this.#messages) {
      if (this.#bytes <= this.#limitBytes) break;
      this.#messages.delete(oldest);
      this.#bytes -= length;
    }
    return message;
  }

  /** Encodes a complete response: an object or a Status in its envelope. */
  sealed(object: ApiObject, kind: MessageKind): Buffer {
    if (object.kind === 'Status' && kind.kind !== 'Status') return statusMessage(object as unknown as Status);
    return seal(kind, this.raw(object, kind.schema));
  }
}

export const partialMessage = (object: ApiObject, version: MetaVersion): Buffer =>
  seal(partialKind(version), rawPartial(object));

const rawPartial = ({ metadata }: ApiObject): Buffer => encodeMessage({ metadata }, PartialObjectMetadataSchema);

/** How the items of a list are encoded, and the name of the list kind. */
export interface ListMessage {
  readonly apiVersion: string;
  readonly kind: string;
  readonly raw: (item: Served) => Buffer;
}

export function listMessage(definition: ResourceDefinition, messages: ObjectMessages): ListMessage {
  const { apiVersion, kind, schema } = kindOf(definition);
  return {
    apiVersion,
    kind: definition.listKind ?? `${kind}List`,
    raw: ({ object }) => messages.raw(object, schema),
  };
}

export const partialListMessage = (version: MetaVersion): ListMessage => ({
  apiVersion: `meta.k8s.io/${version}`,
  kind: 'PartialObjectMetadataList',
  raw: ({ object }) => rawPartial(object),
});

/** Encodes the metadata of a list as the first field of its message. */
export const listMetadata = (list: ServedList): Buffer =>
  listHead(
    encodeMessage(
      {
        resourceVersion: list.resourceVersion,
        continue: list.continue,
        remainingItemCount: list.remainingItemCount,
      },
      ListMetaSchema,
    ),
  );
