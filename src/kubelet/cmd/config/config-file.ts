/** Reads one configuration file: YAML or JSON to a plain value, and every problem with its line. */
import { errorMessage } from '../../../base/errors.ts';
import { defaultManifestLimits } from '../../../api/manifest/load-manifest.ts';
import { positionAt } from '../../../api/manifest/manifest-error.ts';
import { parseYaml } from '../../../api/manifest/parse-yaml.ts';
import { splitDocuments } from '../../../api/manifest/split-documents.ts';
import { locate, toPlainValue } from '../../../api/manifest/yaml-value.ts';
import { decode } from '../../../api/schema/decode.ts';
import {
  KubeletConfigurationSchema,
  KUBELET_CONFIG_API_VERSION,
  KUBELET_CONFIG_KIND,
} from '../../model/config/schema.ts';
import { errorAt } from './config-error.ts';
import type { ConfigError, SourceText } from './config-error.ts';

/** The file access for loading, which main.ts or a test supplies. */
export interface ConfigFiles {
  /** Returns the text of the file. Throws if it cannot be read. */
  readonly readFile: (path: string) => string;
  /** Returns the entries of a folder. Throws if it cannot be listed. */
  readonly listDir: (path: string) => readonly { readonly name: string; readonly isFolder: boolean }[];
}

export interface ConfigFile {
  readonly source: SourceText;
  /** The object as written, including nulls, which remove a field in a drop-in. */
  readonly raw: Readonly<Record<string, unknown>>;
  readonly errors: readonly ConfigError[];
}

/**
 * Reads and checks a file. `raw` is empty if the file cannot be used. Unknown fields, duplicate fields and wrong types
 * are errors.
 */
export function readConfigFile(file: string, files: ConfigFiles): ConfigFile {
  const nowhere: SourceText = { file, text: '', offsetOf: () => 0 };
  const unusable = (error: ConfigError): ConfigFile => ({ source: nowhere, raw: {}, errors: [error] });
  let text: string;
  try {
    text = files.readFile(file).replace(/^\uFEFF/, '');
  } catch (error) {
    return unusable({ file, message: `failed to read kubelet config file: ${errorMessage(error)}` });
  }
  const documents = splitDocuments(text, 2);
  const [document, second] = documents;
  if (document === undefined) return unusable({ file, message: 'kubelet config file was empty' });
  if (second !== undefined)
    return unusable({
      file,
      ...positionAt(text, second.offset),
      message: 'more than one document in the file; a kubelet config file holds exactly one KubeletConfiguration',
    });
  const parsed = parseYaml(document.text, defaultManifestLimits.maxLexemes);
  const syntax = parsed.errors[0];
  if (syntax !== undefined || parsed.document === undefined) {
    return unusable({
      file,
      ...positionAt(text, document.offset + (syntax?.offset ?? 0)),
      message: `not valid YAML or JSON: ${syntax?.message ?? 'not readable'}`,
    });
  }
  const { value, problems, anchors } = toPlainValue(parsed.document, defaultManifestLimits);
  const root = parsed.document.contents;
  const source: SourceText = { file, text, offsetOf: (path) => document.offset + locate(root, path, anchors) };
  const yamlErrors = problems.map(
    (problem): ConfigError => ({
      file,
      ...positionAt(text, document.offset + problem.offset),
      message: problem.message,
    }),
  );
  if (problems.some((problem) => !problem.duplicate)) return { source, raw: {}, errors: yamlErrors };
  return checkObject(source, value, yamlErrors);
}

function checkObject(source: SourceText, value: unknown, earlier: readonly ConfigError[]): ConfigFile {
  const accepted = `accepted is apiVersion: ${KUBELET_CONFIG_API_VERSION}, kind: ${KUBELET_CONFIG_KIND}`;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return { source, raw: {}, errors: [...earlier, errorAt(source, [], `expected an object; ${accepted}`)] };
  }
  const raw = value as Record<string, unknown>;
  const errors = [...earlier];
  for (const [field, wanted] of [
    ['apiVersion', KUBELET_CONFIG_API_VERSION],
    ['kind', KUBELET_CONFIG_KIND],
  ] as const) {
    if (raw[field] === undefined) errors.push(errorAt(source, [], `${field} is missing; ${accepted}`));
    else if (raw[field] !== wanted)
      errors.push(errorAt(source, [field], `unknown ${field} ${JSON.stringify(raw[field])}; ${accepted}`));
  }
  // A file of another kind would only give a page of unknown fields.
  if (raw.kind !== undefined && raw.kind !== KUBELET_CONFIG_KIND) return { source, raw: {}, errors };
  for (const error of decode(KubeletConfigurationSchema, raw, { mode: 'strict' }).errors)
    errors.push(errorAt(source, error.path, error.message));
  return { source, raw, errors };
}

export interface DropIns {
  /** The paths of the *.conf files, in the order in which they are merged. */
  readonly files: readonly string[];
  /** The other entries of the folder, which are only logged. */
  readonly skipped: readonly string[];
  readonly errors: readonly ConfigError[];
}

const MAX_DROP_IN_DEPTH = 32;

/**
 * Lists the drop-ins of a folder and its subfolders, in lexical order of the walk (upstream: cmd/kubelet/app/server.go
 * mergeKubeletConfigurations).
 */
export function listDropIns(folder: string, files: ConfigFiles, depth = 0): DropIns {
  const found: string[] = [];
  const skipped: string[] = [];
  const errors: ConfigError[] = [];
  let entries: ReturnType<ConfigFiles['listDir']>;
  try {
    entries = files.listDir(folder);
  } catch (error) {
    return {
      files: [],
      skipped: [],
      errors: [
        {
          file: folder,
          flag: 'config-dir',
          message: `failed to walk through kubelet dropin directory (--config-dir): ${errorMessage(error)}`,
        },
      ],
    };
  }
  const byName = [...entries].sort((left, right) => (left.name < right.name ? -1 : Number(left.name > right.name)));
  for (const { name, isFolder } of byName) {
    const path = `${folder.replace(/(?<!\/)\/+$/, '')}/${name}`;
    if (isFolder && depth < MAX_DROP_IN_DEPTH) {
      const below = listDropIns(path, files, depth + 1);
      found.push(...below.files);
      skipped.push(...below.skipped);
      errors.push(...below.errors);
    } else if (!isFolder && name.endsWith('.conf')) found.push(path);
    else if (!isFolder) skipped.push(path);
  }
  return { files: found, skipped, errors };
}
