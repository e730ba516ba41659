import type { ApiObject } from '../../../api/client/resource-type.ts';
import type { Schema } from '../../../api/schema/schema.ts';
import type { AdmissionAttributes } from '../../model/admission.ts';
import { isAssociative } from '../../patch/path-element.ts';
import { mergeConfig } from '../../patch/typed-merge.ts';
import { decodeChanged } from './patched-by-webhook.ts';

/**
 * Applies the apply configuration of a policy to an object and sets defaults. Throws if the configuration has fields
 * that the schema lacks, or changes atomic lists or structs (upstream: mutating/patch/smd.go ApplyStructuredMergeDiff).
 */
export function mergedByPolicy(
  attributes: AdmissionAttributes,
  document: Readonly<Record<string, unknown>>,
  config: unknown,
): ApiObject {
  const { schema } = attributes.definition;
  const unknown = unknownsIn(schema, config, '');
  if (unknown.length > 0)
    throw new Error(
      `failed to convert patch object to typed object: ${unknown.map((path) => `${path}: field not declared in schema`).join(', ')}`,
    );
  const atomics = atomicsIn(schema, config, '');
  if (atomics.length > 0)
    throw new Error(`invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: ${atomics.join(', ')}`);
  return decodeChanged(attributes, document, mergeConfig(schema, document, config));
}

/** Returns the paths at which a configuration has atomic lists or structs. */
function atomicsIn(schema: Schema, config: unknown, path: string): readonly string[] {
  if (typeof config !== 'object' || config === null) return [];
  if (schema.kind === 'array') {
    if (!isAssociative(schema)) return [path];
    return (config as readonly unknown[]).flatMap((item, index) => atomicsIn(schema.items, item, `${path}[${index}]`));
  }
  if ((schema.kind === 'object' || schema.kind === 'map') && schema.atomic === true) return [path];
  return Object.entries(config).flatMap(([key, value]) => {
    const inner = schema.kind === 'map' ? schema.values : fieldOf(schema, key);
    return inner === undefined ? [] : atomicsIn(inner, value, `${path}.${key}`);
  });
}

function fieldOf(schema: Schema, name: string): Schema | undefined {
  return schema.kind === 'object' && Object.hasOwn(schema.fields, name) ? schema.fields[name]?.schema : undefined;
}

/** Returns the fields that the schema does not have. */
function unknownsIn(schema: Schema, config: unknown, path: string): readonly string[] {
  if (typeof config !== 'object' || config === null) return [];
  if (schema.kind === 'array')
    return Array.isArray(config)
      ? config.flatMap((item, index) => unknownsIn(schema.items, item, `${path}[${index}]`))
      : [];
  if (schema.kind !== 'object' && schema.kind !== 'map') return [];
  return Object.entries(config).flatMap(([key, value]) => {
    const inner = schema.kind === 'map' ? schema.values : fieldOf(schema, key);
    return inner === undefined ? [`${path}.${key}`] : unknownsIn(inner, value, `${path}.${key}`);
  });
}
