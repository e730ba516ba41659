import { isRecord } from '../../base/json-record.ts';
import { parseExactJson } from '../../base/exact-json.ts';
import { goJson } from '../../api/go-json.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import type { ObjectSchema } from '../../api/schema/schema.ts';
import { compareFields } from './compare-fields.ts';
import { difference, hasPath } from './field-set.ts';
import type { JsonObject } from './json-value.ts';
import { PathElementError } from './path-element.ts';
import { appliedFields } from './typed-fields.ts';
import { validateConfig } from './validate-config.ts';

/**
 * The size limit of all annotations of an object, keys and values (apimachinery validation: TotalAnnotationSizeLimitB).
 */
const ANNOTATIONS_LIMIT_BYTES = 256 * 1024;
const ANNOTATION = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * Returns the fields that kubectl set by client-side apply and that have not changed since, from its annotation;
 * undefined without a usable annotation (upstream: lastAppliedManager).
 */
export function forgiveLastApplied(
  schema: ObjectSchema,
  live: ApiObject,
  apiVersion: string,
): ((path: readonly string[]) => boolean) | undefined {
  const text = live.metadata.annotations?.[ANNOTATION];
  const config = text === undefined || text === '' ? undefined : parseObject(text);
  if (config?.['apiVersion'] !== apiVersion || validateConfig(schema, config).length > 0) return undefined;
  try {
    const { changed, removed } = compareFields(schema, config, live, 'changed');
    const fields = difference(difference(appliedFields(schema, config), changed), removed);
    return (path) => hasPath(fields, path);
  } catch (error) {
    if (error instanceof PathElementError) return undefined;
    throw error;
  }
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = parseExactJson(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Updates the annotation of client-side apply when kubectl applies server-side, so that users can switch back
 * (upstream: lastAppliedUpdater).
 */
export function refreshLastApplied(object: ApiObject, config: JsonObject): ApiObject {
  const { metadata } = object;
  const before = metadata?.annotations?.[ANNOTATION];
  if (before === undefined || before === '') return object;
  const text = `${sortedJson(withoutAnnotation(config))}\n`;
  const refreshed = { ...metadata.annotations, [ANNOTATION]: text };
  let bytes = 0;
  for (const [key, value] of Object.entries(refreshed)) bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  const { [ANNOTATION]: _, ...others } = refreshed;
  return { ...object, metadata: { ...metadata, annotations: bytes > ANNOTATIONS_LIMIT_BYTES ? others : refreshed } };
}

function withoutAnnotation(config: JsonObject): JsonObject {
  const metadata = config['metadata'];
  const given = isRecord(metadata) ? metadata['annotations'] : undefined;
  if (!isRecord(metadata) || !isRecord(given)) return config;
  const { [ANNOTATION]: _, ...others } = given;
  return { ...config, metadata: { ...metadata, annotations: others } };
}

/** Encodes JSON as Go does for maps, with sorted keys. */
function sortedJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(',')}]`;
  if (!isRecord(value)) return goJson(value ?? null);
  const fields = Object.keys(value).sort();
  return `{${fields.map((key) => `${goJson(key)}:${sortedJson(value[key])}`).join(',')}}`;
}
