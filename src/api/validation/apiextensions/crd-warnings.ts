import type { CustomResourceDefinition } from '../../apiextensions/custom-resource-definition.ts';
import { goQuote } from '../../go-quote.ts';
import { isKnownFormat } from '../../structural/formats.ts';
import { readJsonSchema } from '../../structural/json-schema.ts';
import type { JsonSchema } from '../../structural/json-schema.ts';
import { innerSchemas } from '../../structural/validate-structural.ts';

/** Formats that check nothing; an update is not warned of those that were there (upstream: strategy.go WarningsOnCreate). */
export function crdWarnings(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): readonly string[] {
  const before = new Set(old === undefined ? [] : unknownFormats(old));
  return unknownFormats(definition)
    .filter((format) => !before.has(format))
    .map((format) => `unrecognized format ${goQuote(format)}`);
}

/** What all versions have alike counts once. */
function unknownFormats({ spec }: CustomResourceDefinition): readonly string[] {
  const schemas = new Set(spec.versions.map(({ schema }) => JSON.stringify(schema?.openAPIV3Schema ?? {})));
  return [...schemas].flatMap((text) => formatsIn(readJsonSchema(JSON.parse(text)).schema));
}

const formatsIn = (schema: JsonSchema): readonly string[] => [
  ...(schema.format !== undefined && !isKnownFormat(schema.format, schema.type ?? '') ? [schema.format] : []),
  ...innerSchemas(schema).flatMap(formatsIn),
];
