import { parseExactJson } from '../../../base/exact-json.ts';
import { PackedBytes } from '../../../base/packed-bytes.ts';
import { apiVersionOf } from '../../../api/client/resource-type.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { goJson } from '../../../api/go-json.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { shareManagedFields } from '../../patch/managed-entries.ts';
import type { Served } from '../registry.ts';

/** The text at the beginning of every stored object of a kind; the rest of its metadata follows. */
const openings = new WeakMap<ResourceDefinition, string>();

/** Returns the version of an object. If objects of several versions are stored, each contains its own version. */
const versionIn = (definition: ResourceDefinition, { apiVersion }: ApiObject): string =>
  definition.isInternal === true ? (apiVersion ?? '') : apiVersionOf(definition.type);

function openingOf(definition: ResourceDefinition, object: ApiObject): string {
  if (definition.isInternal === true) return formatOpening(definition.type.kind, versionIn(definition, object));
  let opening = openings.get(definition);
  if (opening === undefined) {
    opening = formatOpening(definition.type.kind, apiVersionOf(definition.type));
    openings.set(definition, opening);
  }
  return opening;
}

const formatOpening = (kind: string, apiVersion: string): string =>
  `{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},"metadata":{`;

/** Converts metadata to the wire format, in which fields that are '' in memory are absent. */
function wireMetadata(metadata: ApiObject['metadata'], resourceVersion: string | undefined): object {
  const { name, namespace, uid, resourceVersion: _, ...rest } = metadata;
  return {
    ...(name !== '' && { name }),
    ...(namespace !== '' && { namespace }),
    ...(uid !== '' && { uid }),
    ...(resourceVersion !== undefined && { resourceVersion }),
    ...rest,
  };
}

/** Returns the JSON of an object, with kind, apiVersion and metadata first. */
export function wireJson(definition: ResourceDefinition, object: ApiObject): string {
  return toJson(definition, object, object.metadata.resourceVersion);
}

/** Returns the stored text. It has no resource version, because the store keeps that. */
export function storedJson(definition: ResourceDefinition, object: ApiObject): string {
  return toJson(definition, object, undefined);
}

function toJson(definition: ResourceDefinition, object: ApiObject, resourceVersion: string | undefined): string {
  // The text equals upstream's, because the data of a ControllerRevision is compared byte by byte.
  return goJson(toWire(definition, object, resourceVersion));
}

function toWire(
  definition: ResourceDefinition,
  object: ApiObject,
  resourceVersion: string | undefined,
): Record<string, unknown> {
  const { kind: _, apiVersion: __, metadata, ...rest } = object;
  return {
    kind: definition.type.kind,
    apiVersion: versionIn(definition, object),
    metadata: wireMetadata(metadata, resourceVersion),
    ...rest,
  };
}

/**
 * Returns the object in the wire format as a value, to which patches are applied. It shares its parts with the object.
 */
export function wireValue(definition: ResourceDefinition, object: ApiObject): Readonly<Record<string, unknown>> {
  return toWire(definition, object, object.metadata.resourceVersion);
}

/**
 * Reads an object from the store, with its resource version, and '' for absent fields. Throws `SyntaxError` for invalid
 * JSON.
 */
export function fromStored(value: string, revision: number): ApiObject {
  // This server, or another one that stores JSON, validated it on write.
  const object = parseExactJson(value) as ApiObject;
  return withVersion({ ...object, metadata: shareManagedFields(object.metadata) }, revision);
}

export function withVersion(object: ApiObject, revision: number): ApiObject {
  const { name, namespace, uid, ...rest } = object.metadata;
  // A stored object may lack fields that the type requires.
  return {
    ...object,
    metadata: {
      name,
      namespace: (namespace as string | undefined) ?? '',
      uid: (uid as string | undefined) ?? '',
      ...rest,
      resourceVersion: String(revision),
    },
  };
}

/**
 * The length of long texts. A watch that resumes creates them again; they are not kept for it. If the kind is kept
 * `packed`, they are compressed when the object is no longer among the newest.
 */
const LONG_TEXT = 16_384;

/** An object of the cache. Its JSON is created on first use, from the stored text if possible. */
export class CachedObject implements Served {
  readonly object: ApiObject;
  readonly revision: number;
  readonly #definition: ResourceDefinition;
  #stored: string | undefined;
  #json: string | undefined;
  #packed: PackedBytes | undefined;
  #deleted: CachedObject | undefined;

  constructor(definition: ResourceDefinition, object: ApiObject, revision: number, stored?: string) {
    this.#definition = definition;
    this.object = object;
    this.revision = revision;
    this.#stored = stored;
  }

  get json(): string {
    if (this.#packed !== undefined) return this.#wireText(this.#packed.bytes.toString('utf8'));
    if (this.#isToBePacked) return this.#wireText(this.#stored);
    this.#json ??= this.#wireText(this.#stored);
    this.#stored = undefined;
    return this.#json;
  }

  #wireText(stored: string | undefined): string {
    const opening = openingOf(this.#definition, this.object);
    return stored?.startsWith(opening) === true
      ? `${opening}"resourceVersion":"${this.revision}",${stored.slice(opening.length)}`
      : wireJson(this.#definition, this.object);
  }

  get #isToBePacked(): boolean {
    return this.#definition.packed !== undefined && (this.#stored?.length ?? 0) > LONG_TEXT;
  }

  get isCompressed(): boolean {
    return this.#packed !== undefined;
  }

  /** Compresses the text if it is long and the kind is kept packed. */
  pack(): void {
    if (this.#stored === undefined || !this.#isToBePacked) return;
    this.#packed = new PackedBytes(this.#stored);
    this.#stored = undefined;
  }

  /** Drops a long text of a replaced object. Only a watch that resumes from before may still need its JSON. */
  dropLongText(): void {
    this.#packed = undefined;
    if ((this.#json ?? this.#stored ?? '').length < LONG_TEXT) return;
    this.#stored = undefined;
    this.#json = undefined;
  }

  /** Returns the same object with the version of its deletion, which watchers of deletions receive. */
  deletedAt(revision: number): CachedObject {
    if (this.#deleted?.revision !== revision)
      this.#deleted = new CachedObject(this.#definition, withVersion(this.object, revision), revision);
    return this.#deleted;
  }
}
