import { storageVersionOf } from '../apiextensions/custom-resource-definition.ts';
import { isPacked } from '../apiextensions/packed-schemas.ts';
import type { CustomResourceDefinition } from '../apiextensions/custom-resource-definition.ts';
import { readJsonSchema } from '../structural/json-schema.ts';

/** Defaults of a definition (upstream: apiextensions/v1 SetDefaults_CustomResourceDefinition). */
export function defaultCustomResourceDefinition(definition: CustomResourceDefinition): CustomResourceDefinition {
  const { spec, status } = definition;
  const { names, conversion } = spec;
  const service = conversion?.webhook?.clientConfig?.service;
  const stored = storageVersionOf(definition);
  const storedVersions = status?.storedVersions ?? [];
  return {
    ...definition,
    spec: {
      ...spec,
      names: {
        ...names,
        singular: (names.singular ?? '') === '' ? names.kind.toLowerCase() : names.singular,
        listKind: (names.listKind ?? '') === '' && names.kind !== '' ? `${names.kind}List` : names.listKind,
      },
      versions: spec.versions.map(withKnownSchema),
      conversion:
        conversion === undefined
          ? { strategy: 'None' }
          : service === undefined || service.port !== undefined
            ? conversion
            : {
                ...conversion,
                webhook: {
                  conversionReviewVersions: [],
                  ...conversion.webhook,
                  clientConfig: { ...conversion.webhook?.clientConfig, service: { ...service, port: 443 } },
                },
              },
    },
    status: {
      conditions: [],
      acceptedNames: { plural: '', kind: '' },
      ...status,
      storedVersions: storedVersions.length > 0 || stored === '' ? storedVersions : [stored],
    },
  };
}

type Version = CustomResourceDefinition['spec']['versions'][number];
const known = new WeakSet<object>();

/** Fields that the schema does not have are dropped, as in any object. */
function withKnownSchema(version: Version): Version {
  if (version.schema === undefined || isPacked(version.schema)) return version;
  const raw = version.schema.openAPIV3Schema;
  if (typeof raw !== 'object' || raw === null || known.has(raw)) return version;
  const { schema, problems } = readJsonSchema(raw);
  // Values of a wrong type are kept, so that validation refuses them.
  const openAPIV3Schema = problems.some(({ kind }) => kind === 'wrongType') ? raw : schema;
  known.add(openAPIV3Schema);
  return { ...version, schema: { openAPIV3Schema } };
}
