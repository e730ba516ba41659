import { defaultManifestLimits } from '../../../../api/manifest/load-manifest.ts';
import { positionAt } from '../../../../api/manifest/manifest-error.ts';
import { parseYaml } from '../../../../api/manifest/parse-yaml.ts';
import { splitDocuments } from '../../../../api/manifest/split-documents.ts';
import { locate, toPlainValue } from '../../../../api/manifest/yaml-value.ts';
import { parseDurationMs } from '../../../../api/duration.ts';
import { decode } from '../../../../api/schema/decode.ts';
import type { FieldPath } from '../../../../api/schema/field-path.ts';
import { formatFieldPath } from '../../../../api/schema/field-path.ts';
import type { Infer } from '../../../../api/schema/schema.ts';
import { array, duration, object, required, string } from '../../../../api/schema/schema.ts';
import { errorMessage } from '../../../../base/errors.ts';
import type { HostFiles } from '../../../ports/host-files.ts';
import { checkTokenAttributes, toTokenAttributes, TokenAttributesSchema } from './token-attributes.ts';
import type { TokenAttributes } from './token-attributes.ts';

const GROUP = 'kubelet.config.k8s.io';
const KIND = 'CredentialProviderConfig';
const pluginVersions = [
  'credentialprovider.kubelet.k8s.io/v1',
  'credentialprovider.kubelet.k8s.io/v1alpha1',
  'credentialprovider.kubelet.k8s.io/v1beta1',
];

const ConfigSchema = object('CredentialProviderConfig', {
  kind: string,
  apiVersion: string,
  providers: array(
    object('CredentialProvider', {
      name: required(string),
      matchImages: array(string),
      defaultCacheDuration: duration,
      apiVersion: string,
      args: array(string),
      env: array(object('ExecEnvVar', { name: required(string), value: required(string) })),
      tokenAttributes: TokenAttributesSchema,
    }),
  ),
});
type RawProvider = NonNullable<Infer<typeof ConfigSchema>['providers']>[number];

export interface CredentialProvider {
  readonly name: string;
  readonly matchImages: readonly string[];
  /** The default duration in milliseconds; with 0, answers without a duration are not cached. */
  readonly defaultCacheMs: number;
  readonly apiVersion: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The tokens that the plugin gets; undefined for none. */
  readonly tokens?: TokenAttributes;
}

export interface ProviderRules {
  /** The gate KubeletServiceAccountTokenForCredentialProviders. */
  readonly allowsTokens: boolean;
}

export interface LoadedProviders {
  readonly providers: readonly CredentialProvider[];
  /** The errors, each with file, line and field. If there are any, no provider may be used. */
  readonly errors: readonly string[];
}

/**
 * Loads the configuration of credential provider plugins from a file, or from the *.json, *.yaml and *.yml files of a
 * folder in lexical order (upstream: credentialprovider/plugin/config.go). It validates the whole configuration, and
 * checks that each plugin exists. It never throws. Errors contain no values of `env`.
 */
export async function loadCredentialProviders(
  files: HostFiles,
  { configPath, binDir, ...rules }: ProviderRules & { configPath: string; binDir: string },
): Promise<LoadedProviders> {
  const providers: CredentialProvider[] = [];
  const errors: string[] = [];
  try {
    for (const file of await configFiles(files, configPath)) {
      const loaded = parseProviderConfig(await files.readText(file, 1024 * 1024), file, rules);
      errors.push(...loaded.errors);
      for (const provider of loaded.providers) {
        if (providers.some((known) => known.name === provider.name))
          errors.push(
            `${file}: duplicate provider name ${JSON.stringify(provider.name)} found in configuration file(s)`,
          );
        else providers.push(provider);
      }
    }
    for (const { name } of errors.length === 0 ? providers : []) {
      const info = await files.stat(`${binDir}/${name}`);
      if (info === undefined) errors.push(`plugin binary executable ${binDir}/${name} did not exist`);
      else if (info.type !== 'file' || (info.mode & 0o111) === 0)
        errors.push(`plugin binary ${binDir}/${name} is not an executable file`);
    }
  } catch (error) {
    errors.push(`credential provider config ${configPath}: ${errorMessage(error)}`);
  }
  return { providers: errors.length === 0 ? providers : [], errors };
}

async function configFiles(files: HostFiles, configPath: string): Promise<string[]> {
  const info = await files.stat(configPath);
  if (info === undefined)
    throw new Error(`unable to access path ${JSON.stringify(configPath)}: no such file or directory`);
  if (info.type !== 'directory') return [configPath];
  const names = (await files.list(configPath)).filter((name) => /\.(json|ya?ml)$/.test(name));
  if (names.length === 0) throw new Error(`no configuration files found in directory ${JSON.stringify(configPath)}`);
  return names.map((name) => `${configPath}/${name}`);
}

/** Parses one configuration file. */
export function parseProviderConfig(text: string, file: string, rules: ProviderRules): LoadedProviders {
  const [document] = splitDocuments(text, 2);
  if (document === undefined) return { providers: [], errors: [`${file}: is empty`] };
  const parsed = parseYaml(document.text, defaultManifestLimits.maxLexemes);
  if (parsed.document === undefined || parsed.errors.length > 0)
    return {
      providers: [],
      errors: [`${file}:${line(text, document.offset + (parsed.errors[0]?.offset ?? 0))}: not valid YAML or JSON`],
    };
  const { value, problems, anchors } = toPlainValue(parsed.document, defaultManifestLimits);
  const root = parsed.document.contents;
  const errors = problems.map(
    (problem) => `${file}:${line(text, document.offset + problem.offset)}: ${problem.message}`,
  );
  const fail = (path: FieldPath, message: string): void => {
    errors.push(
      `${file}:${line(text, document.offset + locate(root, path, anchors))}: ${path.length === 0 ? '' : `${formatFieldPath(path)}: `}${message}`,
    );
  };
  const decoded = decode(ConfigSchema, value, { mode: 'strict', hideValues: true });
  for (const error of decoded.errors) fail(error.path, error.message);
  const { kind, apiVersion, providers = [] } = decoded.value;
  if (kind !== KIND) fail(kind === undefined ? [] : ['kind'], `kind must be ${KIND}`);
  if (!/^kubelet\.config\.k8s\.io\/v1((alpha|beta)1)?$/.test(apiVersion ?? ''))
    fail(apiVersion === undefined ? [] : ['apiVersion'], `apiVersion must be ${GROUP}/v1`);
  if (providers.length === 0) fail([], 'providers: at least 1 item in plugins is required');
  for (const [index, provider] of providers.entries())
    checkProvider(provider, rules, (field, message) => fail(['providers', index, ...field], message));
  const duplicate = providers.find(
    (provider, index) => providers.findIndex((other) => other.name === provider.name) !== index,
  );
  if (duplicate !== undefined) fail(['providers'], `duplicate provider name ${JSON.stringify(duplicate.name)}`);
  return { providers: errors.length > 0 ? [] : providers.map(toProvider), errors };
}

function checkProvider(
  provider: RawProvider,
  rules: ProviderRules,
  fail: (field: FieldPath, message: string) => void,
): void {
  const { name, apiVersion = '', matchImages = [], defaultCacheDuration, tokenAttributes } = provider;
  const invalid = JSON.stringify(name);
  if (name === '') fail(['name'], 'Required value');
  if (name.includes('/')) fail(['name'], `Invalid value: ${invalid}: provider name cannot contain '/'`);
  if (name.includes(' ')) fail(['name'], `Invalid value: ${invalid}: provider name cannot contain spaces`);
  if (name === '.' || name === '..') fail(['name'], `Invalid value: ${invalid}: provider name cannot be '${name}'`);
  if (apiVersion === '') fail(['apiVersion'], 'Required value');
  else if (!pluginVersions.includes(apiVersion))
    fail(
      ['apiVersion'],
      `Unsupported value: ${JSON.stringify(apiVersion)}: supported values: ${pluginVersions.map((version) => JSON.stringify(version)).join(', ')}`,
    );
  if (matchImages.length === 0) fail(['matchImages'], 'Required value: at least 1 item in matchImages is required');
  for (const [index, pattern] of matchImages.entries()) {
    if (pattern === '' || /[\s%]/.test(pattern) || pattern.includes('://'))
      fail(
        ['matchImages', index],
        `Invalid value: ${JSON.stringify(pattern)}: match image is invalid: expected host[:port][/path] without a scheme`,
      );
  }
  const cacheMs = defaultCacheDuration === undefined ? undefined : parseDurationMs(defaultCacheDuration);
  if (cacheMs === undefined) fail(['defaultCacheDuration'], 'Required value');
  else if (cacheMs < 0)
    fail(
      ['defaultCacheDuration'],
      `Invalid value: ${JSON.stringify(defaultCacheDuration)}: must be greater than or equal to 0`,
    );
  if (tokenAttributes !== undefined)
    checkTokenAttributes(tokenAttributes, { apiVersion, isEnabled: rules.allowsTokens }, (field, message) =>
      fail(['tokenAttributes', ...field], message),
    );
}

function toProvider(provider: RawProvider): CredentialProvider {
  const { name, matchImages = [], defaultCacheDuration = '0s', apiVersion = '', args = [], env = [] } = provider;
  const { tokenAttributes } = provider;
  return {
    name,
    matchImages,
    defaultCacheMs: parseDurationMs(defaultCacheDuration) ?? 0,
    apiVersion,
    args,
    env: Object.fromEntries(env.map((item) => [item.name, item.value])),
    ...(tokenAttributes === undefined ? {} : { tokens: toTokenAttributes(tokenAttributes) }),
  };
}

function line(text: string, offset: number): number {
  return positionAt(text, offset).line;
}
