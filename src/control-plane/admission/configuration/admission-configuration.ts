import { array, object, opaque, required, string } from '../../../api/schema/schema.ts';
import type { ObjectSchema, Infer } from '../../../api/schema/schema.ts';
import { decodeAny, formatDecodeError, formatStrictErrors } from '../../../api/schema/decode.ts';

/** AdmissionConfiguration of apiserver.config.k8s.io/v1: the settings of plugins, embedded or each in its own file. */
const AdmissionConfigurationSchema = object('AdmissionConfiguration', {
  kind: string,
  apiVersion: string,
  plugins: array(
    object('AdmissionPluginConfiguration', { name: required(string), path: string, configuration: opaque }),
  ),
});

export interface PluginSettings {
  readonly name: string;
  /** A path relative to the file that contains it. */
  readonly path: string | undefined;
  readonly configuration: unknown;
}

/** The parsed file, or its error. */
export function readAdmissionConfiguration(document: unknown): readonly PluginSettings[] | string {
  const read = readConfig<Infer<typeof AdmissionConfigurationSchema>>(AdmissionConfigurationSchema, document, {
    kind: 'AdmissionConfiguration',
    apiVersions: ['apiserver.config.k8s.io/v1', 'apiserver.k8s.io/v1alpha1'],
  });
  if (typeof read === 'string') return read;
  return (read.plugins ?? []).map(({ name, path, configuration }) => ({
    name,
    path: path === '' ? undefined : path,
    configuration,
  }));
}

/**
 * A configuration object of a known kind without unknown fields, or its error. `T` is the type inferred from the
 * schema.
 */
export function readConfig<T extends object>(
  schema: ObjectSchema,
  document: unknown,
  { kind, apiVersions }: { readonly kind: string; readonly apiVersions: readonly string[] },
): T | string {
  const given = (typeof document === 'object' && document !== null ? document : {}) as {
    readonly kind?: unknown;
    readonly apiVersion?: unknown;
  };
  if (typeof given.kind !== 'string' || given.kind === '') return "Object 'Kind' is missing";
  if (typeof given.apiVersion !== 'string' || given.apiVersion === '') return "Object 'apiVersion' is missing";
  if (given.kind !== kind || !apiVersions.includes(given.apiVersion))
    return `no kind ${JSON.stringify(given.kind)} is registered for version ${JSON.stringify(given.apiVersion)}; expected ${kind} of ${apiVersions.join(' or ')}`;
  const { value, errors, warnings } = decodeAny(schema, document, { mode: 'lenient' });
  if (errors.length > 0) return errors.map(formatDecodeError).join(', ');
  return warnings.length > 0 ? formatStrictErrors(warnings) : (value as T);
}
