/**
 * Loads the configuration from a command line. The result is a validated configuration, or all errors. It depends only
 * on the given files.
 */
import path from 'node:path/posix';
import { decode } from '../../../api/schema/decode.ts';
import { applyDefaults, applyEvictionDefaults, applyLegacyDefaults } from '../../model/config/defaults.ts';
import type { DefaultedKubeletConfiguration } from '../../model/config/defaults.ts';
import { computeFeatureGates } from '../../model/config/feature-gates.ts';
import type { GateResult } from '../../model/config/feature-gates.ts';
import { toKubeletConfig } from '../../model/config/kubelet-config.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import {
  KubeletConfigurationSchema,
  KUBELET_CONFIG_API_VERSION,
  KUBELET_CONFIG_KIND,
} from '../../model/config/schema.ts';
import type { KubeletConfiguration } from '../../model/config/schema.ts';
import { validateKubeletConfiguration } from '../../model/config/validate.ts';
import { computeParityWarnings } from './config-parity.ts';
import { errorAt } from './config-error.ts';
import type { ConfigError } from './config-error.ts';
import { listDropIns, readConfigFile } from './config-file.ts';
import type { ConfigFile, ConfigFiles } from './config-file.ts';
import { fieldAt, mergePatch, withField } from './config-merge.ts';
import { withManifestFolder } from './manifest-folder.ts';
import { agentFlags } from '../flags/flags-agent.ts';
import { isCommandName } from '../flags/flags-commands.ts';
import type { CommandName } from '../flags/flags-commands.ts';
import { configFlags } from '../flags/flags-config.ts';
import { helpText } from '../flags/flags-help.ts';
import { parseFlags } from '../flags/flags-parse.ts';
import type { ParsedFlags } from '../flags/flags-parse.ts';
import { readAgentFlags } from '../flags/flags-values-agent.ts';
import type { AgentFlags } from '../flags/flags-values-agent.ts';
import { KUBERNETES_VERSION, rawVersion, versionLine } from '../flags/flags-version.ts';

export type LoadResult =
  | {
      readonly kind: 'run';
      readonly config: KubeletConfig;
      readonly flags: AgentFlags;
      /** Messages to log at the start: deprecated flags, gates that will be removed, fields without effect. */
      readonly warnings: readonly string[];
      /** Files in --config-dir that are not drop-ins. */
      readonly skippedFiles: readonly string[];
    }
  | { readonly kind: 'help'; readonly text: string }
  | { readonly kind: 'version'; readonly text: string }
  | { readonly kind: 'command'; readonly name: CommandName; readonly args: readonly string[] }
  | { readonly kind: 'error'; readonly errors: readonly ConfigError[] };

export const allFlags = [...agentFlags, ...configFlags];

/**
 * Reads the command line (without the program name) and its files, and validates all of it. Never throws for invalid
 * input. The order is upstream's: defaults, --config, --config-dir, flags.
 */
export function loadKubeletConfig(argv: readonly string[], files: ConfigFiles): LoadResult {
  const [first, ...rest] = argv;
  if (first !== undefined && isCommandName(first)) return { kind: 'command', name: first, args: rest };
  if (first === 'help') return { kind: 'help', text: helpText() };
  const parsed = parseFlags(argv, allFlags);
  const lineErrors = [...parsed.errors.map((message) => ({ message })), ...positionalErrors(parsed.positionals)];
  if (parsed.values.get('help') === true && lineErrors.length === 0) return { kind: 'help', text: helpText() };
  const version = parsed.values.get('version');
  if (version === true && lineErrors.length === 0) return { kind: 'version', text: `${versionLine()}\n` };
  if (version === 'raw' && lineErrors.length === 0) return { kind: 'version', text: `${rawVersion()}\n` };
  return new Loading(withManifestFolder(parsed, files), files).run(lineErrors);
}

function positionalErrors(positionals: readonly string[]): ConfigError[] {
  const [first] = positionals;
  if (first === undefined) return [];
  const hint = isCommandName(first)
    ? `; a command comes first: kubelet ${first} ...`
    : '; kubelet --help lists the commands';
  return [{ message: `unknown command ${first}${hint}` }];
}

/** The fields whose paths are relative to the folder of the file (upstream: pkg/kubelet/apis/config/helpers.go). */
const pathFields = [
  'staticPodPath',
  'authentication.x509.clientCAFile',
  'tlsCertFile',
  'tlsPrivateKeyFile',
  'resolvConf',
  'volumePluginDir',
  'podLogsDir',
];

function resolvePaths(config: DefaultedKubeletConfiguration, file: string): DefaultedKubeletConfiguration {
  let resolved: Readonly<Record<string, unknown>> = config;
  for (const field of pathFields) {
    const value = fieldAt(resolved, field);
    if (typeof value === 'string' && value !== '' && !value.startsWith('/'))
      resolved = withField(resolved, field, path.join(path.dirname(file), value).replace(/(.)\/$/, '$1'));
  }
  return resolved as DefaultedKubeletConfiguration;
}

/** Returns the first part of a path, because `featureGates[Foo]` and `featureGates` are about the same field. */
const stem = (fieldPath: string): string => fieldPath.split('[')[0] ?? fieldPath;

/** Returns the top-level fields that a message mentions. */
const namedFields = (message: string): string[] =>
  (message.match(/[a-z][A-Za-z]+/g) ?? []).filter((word) => Object.hasOwn(KubeletConfigurationSchema.fields, word));

class Loading {
  readonly #parsed: ParsedFlags;
  readonly #files: ConfigFiles;
  readonly #errors: ConfigError[] = [];
  /** The files in the order in which they are merged. */
  readonly #documents: ConfigFile[] = [];
  #skipped: readonly string[] = [];

  constructor(parsed: ParsedFlags, files: ConfigFiles) {
    this.#parsed = parsed;
    this.#files = files;
  }

  run(lineErrors: readonly ConfigError[]): LoadResult {
    const { flags, errors: flagErrors } = readAgentFlags(this.#parsed, KUBERNETES_VERSION);
    this.#errors.push(...lineErrors, ...flagErrors);
    const merged = this.#merge(flags);
    const fileGates = merged.featureGates ?? {};
    const gateResult = computeFeatureGates({ ...fileGates, ...this.#flagGates() });
    const config = this.#withFlags(this.#defaulted(merged, gateResult, flags), flags);
    this.#judge(config, gateResult);
    if (this.#errors.length > 0) return { kind: 'error', errors: this.#errors };
    const warnings = [
      ...this.#parsed.warnings,
      ...gateResult.warnings.map(({ message }) => message),
      ...computeParityWarnings(config, {
        fromFile: flags.configFile !== '',
        given: new Set(this.#parsed.values.keys()),
      }),
    ];
    return {
      kind: 'run',
      config: toKubeletConfig(config, gateResult.gates),
      flags,
      warnings,
      skippedFiles: this.#skipped,
    };
  }

  /** Merges the files. With --config-dir alone, drop-ins are merged over the old command line defaults, as upstream. */
  #merge(flags: AgentFlags): KubeletConfiguration {
    let base: Record<string, unknown> = {};
    if (flags.configFile !== '') base = this.#read(flags.configFile);
    if (flags.configDir === '') return this.#decode(base);
    const dropIns = listDropIns(flags.configDir, this.#files);
    this.#errors.push(...dropIns.errors);
    this.#skipped = dropIns.skipped;
    if (flags.configFile !== '') base = this.#baseOfDropIns(base, flags);
    else base = { ...applyLegacyDefaults(applyDefaults({}, this.#gatesOf({}).gates.enabled)) };
    for (const file of dropIns.files) base = mergePatch(base, this.#read(file)) as Record<string, unknown>;
    return this.#decode(base);
  }

  /**
   * Returns the base of the drop-ins: a configuration with defaults, so that removing a field in a drop-in restores its
   * default.
   */
  #baseOfDropIns(raw: Record<string, unknown>, flags: AgentFlags): Record<string, unknown> {
    const given = this.#decode(raw);
    const defaulted = applyDefaults(given, this.#gatesOf(given.featureGates ?? {}).gates.enabled);
    return { ...resolvePaths(applyEvictionDefaults(defaulted), flags.configFile) };
  }

  #gatesOf(fileGates: Readonly<Record<string, boolean>>): GateResult {
    return computeFeatureGates({ ...fileGates, ...this.#flagGates() });
  }

  #read(file: string): Record<string, unknown> {
    const document = readConfigFile(file, this.#files);
    this.#documents.push(document);
    this.#errors.push(...document.errors);
    return { ...document.raw };
  }

  /** Decodes the configuration. The problems of each file were reported with their lines when it was read. */
  #decode(raw: unknown): KubeletConfiguration {
    return {
      ...decode(KubeletConfigurationSchema, raw).value,
      apiVersion: KUBELET_CONFIG_API_VERSION,
      kind: KUBELET_CONFIG_KIND,
    };
  }

  #defaulted(merged: KubeletConfiguration, { gates }: GateResult, flags: AgentFlags): DefaultedKubeletConfiguration {
    const defaulted = applyDefaults(merged, gates.enabled);
    if (flags.configFile === '') return flags.configDir === '' ? applyLegacyDefaults(defaulted) : defaulted;
    if (flags.configDir !== '') return defaulted;
    return resolvePaths(applyEvictionDefaults(defaulted), flags.configFile);
  }

  #flagGates(): Record<string, boolean> {
    return (this.#parsed.values.get('feature-gates') ?? {}) as Record<string, boolean>;
  }

  #withFlags(config: DefaultedKubeletConfiguration, flags: AgentFlags): DefaultedKubeletConfiguration {
    let result: Readonly<Record<string, unknown>> = config;
    for (const { name, field } of configFlags) {
      const value = this.#parsed.values.get(name);
      if (field === undefined || value === undefined) continue;
      result = withField(
        result,
        field,
        field === 'featureGates' ? { ...config.featureGates, ...this.#flagGates() } : value,
      );
    }
    if (flags.seccompDefault) result = withField(result, 'seccompDefault', true);
    return result as DefaultedKubeletConfiguration;
  }

  #judge(config: DefaultedKubeletConfiguration, gateResult: GateResult): void {
    // Fields that could not be read are empty now. A second error about the same field would be misleading.
    const known = new Set(
      this.#errors.flatMap(({ path: field }) => (field === undefined || field === '' ? [] : [stem(field)])),
    );
    for (const { gate, message } of gateResult.errors) this.#blame(`featureGates[${gate}]`, message);
    for (const problem of validateKubeletConfiguration(config, gateResult.gates)) {
      if (!known.has(stem(problem.path))) this.#blame(problem.path, problem.message);
    }
  }

  /** Reports a problem at the source of its value: the flag, else the last file that has the field. */
  #blame(fieldPath: string, message: string): void {
    const flag = configFlags.find(({ name, field }) => field === stem(fieldPath) && this.#parsed.values.has(name));
    const gate = /^featureGates\[(.*)\]$/.exec(fieldPath)?.[1];
    if (flag !== undefined && (gate === undefined || Object.hasOwn(this.#flagGates(), gate))) {
      this.#errors.push({ flag: flag.name, path: fieldPath, message });
      return;
    }
    // A rule about two fields may name the one with the default. Then the other one, which was set, is the place of the
    // error.
    for (const candidate of [fieldPath, ...namedFields(message)]) {
      const document = this.#documents.findLast(({ raw }) => fieldAt(raw, stem(candidate)) !== undefined);
      if (document === undefined) continue;
      this.#errors.push({ ...errorAt(document.source, candidate, message), path: fieldPath });
      return;
    }
    const file = this.#documents.at(0)?.source.file;
    this.#errors.push({ ...(file === undefined ? {} : { file }), path: fieldPath, message });
  }
}
