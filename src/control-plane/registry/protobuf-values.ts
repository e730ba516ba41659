import { errorMessage } from '../../base/errors.ts';
import { parseExactJson } from '../../base/exact-json.ts';
import { apiVersionOf } from '../../api/client/resource-type.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { openEnvelope, decodeMessage } from '../../api/protobuf/decode-protobuf.ts';
import { encodeMessage, sealEnvelope } from '../../api/protobuf/encode-protobuf.ts';
import { decodeAny } from '../../api/schema/decode.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import { plainText } from '../storage/value-codec.ts';
import type { ValueCodec } from '../storage/value-codec.ts';
import { storedJson } from './cache/stored-form.ts';

/** The prefix of protobuf values: `k8s` and a zero byte. */
const magic = Buffer.from('k8s\0');

const isProtobuf = (bytes: Uint8Array): boolean => magic.equals(bytes.subarray(0, magic.length));

export type StorageMediaType = 'application/json' | 'application/vnd.kubernetes.protobuf';

/**
 * Encodes values of a store that is shared with upstream's API servers. Objects of built-in kinds are read in protobuf
 * or JSON, and written in the configured format. All other values are text.
 */
export function objectValues(definitions: readonly ResourceDefinition[], mediaType: StorageMediaType): ValueCodec {
  const byKind = new Map(definitions.map((each) => [`${apiVersionOf(each.type)}/${each.type.kind}`, each]));
  return {
    encode: (text) =>
      (mediaType === 'application/json' ? undefined : toProtobuf(text, byKind)) ?? plainText.encode(text),
    decode: (bytes) => (isProtobuf(bytes) ? fromProtobuf(bytes, byKind) : plainText.decode(bytes)),
  };
}

type DefinitionsByKind = ReadonlyMap<string, ResourceDefinition>;

/** Returns undefined for values without a protobuf form. */
function toProtobuf(text: string, byKind: DefinitionsByKind): Uint8Array | undefined {
  if (!text.startsWith('{"kind":')) return undefined;
  const { kind = '', apiVersion = '', ...value } = parseExactJson(text) as ApiObject;
  const definition = byKind.get(`${apiVersion}/${kind}`);
  if (definition === undefined) return undefined;
  return sealEnvelope({ apiVersion, kind, raw: encodeMessage(value, definition.schema) });
}

function fromProtobuf(bytes: Uint8Array, byKind: DefinitionsByKind): string {
  try {
    const { apiVersion, kind, raw } = openEnvelope(bytes);
    const definition = byKind.get(`${apiVersion}/${kind}`);
    if (definition === undefined) return `a protobuf object of the kind ${kind} of ${apiVersion}, which is not known`;
    const { value } = decodeAny(definition.schema, decodeMessage(raw, definition.schema));
    return storedJson(definition, value as ApiObject);
  } catch (error) {
    return `an unreadable protobuf object: ${errorMessage(error)}`;
  }
}
