import type { CustomResourceDefinition } from '../../apiextensions/custom-resource-definition.ts';
import { goQuote } from '../../go-quote.ts';
import { isKnownFormat } from '../../structural/formats.ts';
import { readJsonSchema } from '../../structural/json-schema.ts';
import type { JsonSchema } from '../../structural/json-schema.ts';
import { innerSchemas } from '../../structural/validate-structural.ts';

/**
 * Warns of formats that are not checked; an update is not warned of formats that existed before (upstream: strategy.go
 * WarningsOnCreate).
 */
export function crdWarnings(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): readonly string[] {
  // Writes of a status leave the rest as it is.
  if (old?.spec === definition.spec) return [];
  const before = new Set(old === undefined ? [] : unknownFormats(old));
  return unknownFormats(definition)
    .filter((format) => !before.has(format))
    .map((format) => `unrecognized format ${goQuote(format)}`);
}

/** A format that several versions use is reported once. */
function unknownFormats({ spec }: CustomResourceDefinition): readonly string[] {
  const schemas = spec.versions.map(({ schema }) => schema?.openAPIV3Schema ?? {});
  const [first, ...others] = schemas;
  const text = others.length === 0 ? '' : JSON.stringify(first);
  const distinct = others.every((each) => JSON.stringify(each) === text) ? schemas.slice(0, 1) : schemas;
  return distinct.flatMap((each) => formatsIn(readJsonSchema(each).schema));
}

const formatsIn = (schema: JsonSchema): readonly string[] => [
  ...(schema.format !== undefined && !isKnownFormat(schema.format, schema.type ?? '') ? [schema.format] : []),
  ...innerSchemas(schema).flatMap(formatsIn),
];
