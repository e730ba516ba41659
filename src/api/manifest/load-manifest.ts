import { Buffer } from 'node:buffer';
import type { Node } from 'yaml';
import type { Pod } from '../core/pod.ts';
import type { DecodeError } from '../schema/decode.ts';
import { formatFieldPath, parseFieldPath } from '../schema/field-path.ts';
import type { FieldPath } from '../schema/field-path.ts';
import { positionAt } from './manifest-error.ts';
import type { ManifestError, Position } from './manifest-error.ts';
import { manifestKindNames, manifestKinds } from './manifest-kinds.ts';
import type { Kinded, KindedObject, ManifestKind, ManifestKinds } from './manifest-kinds.ts';
import { parseYaml } from './parse-yaml.ts';
import { readPlainJson } from './plain-json.ts';
import { splitDocuments } from './split-documents.ts';
import type { DocumentText } from './split-documents.ts';
import { locate, toPlainValue } from './yaml-value.ts';

export interface ManifestLimits {
  readonly maxBytes: number;
  readonly maxDocuments: number;
  /** The limit for objects in all documents and lists together. */
  readonly maxObjects: number;
  readonly maxDepth: number;
  /** The limit for values that YAML aliases add to one document. */
  readonly maxAliasValues: number;
  /** The limit for tokens in one document, which bounds the parsing time. */
  readonly maxLexemes: number;
  readonly maxErrors: number;
}
export const defaultManifestLimits: ManifestLimits = {
  maxBytes: 10 * 1024 * 1024,
  maxDocuments: 1000,
  maxObjects: 2000,
  maxDepth: 64,
  maxAliasValues: 20_000,
  maxLexemes: 500_000,
  maxErrors: 100,
};
export interface LoadOptions {
  /** The name of the text in errors: a file name or a URL. */
  readonly fileName: string;
  readonly limits?: Partial<ManifestLimits>;
  /**
   * `strict` makes unknown and duplicate fields errors. Default lenient: they are warnings, so that a manifest for a
   * newer kubelet still runs.
   */
  readonly mode?: 'strict' | 'lenient';
}
export interface LoadedManifest {
  readonly pods: Pod[];
  /** Objects other than pods, in the order of the text. */
  readonly objects: KindedObject[];
  readonly errors: ManifestError[];
  readonly warnings: ManifestError[];
  /**
   * The position of a field of one of the objects, for errors that are found later. `path` is in upstream's notation.
   */
  readonly locate: (object: ManifestKinds[ManifestKind], path: string) => Position;
}

/**
 * Reads a manifest: YAML or JSON, one or more documents with pods, the kinds of `manifestKinds`, and lists of them.
 * Objects are decoded and defaulted, but not validated. Never throws. An object with an error is left out; the others
 * are returned.
 */
export function loadManifest(text: string, options: LoadOptions): LoadedManifest {
  const loader = new Loader(text, options);
  loader.load();
  return loader.result();
}

/** Adds the position in the file to validation errors. */
export function locateFieldErrors(
  manifest: LoadedManifest,
  object: ManifestKinds[ManifestKind],
  {
    fileName,
    errors,
  }: { readonly fileName: string; readonly errors: readonly { readonly field: string; readonly message: string }[] },
): ManifestError[] {
  return errors.map(({ field, message }) => ({
    file: fileName,
    ...manifest.locate(object, field),
    path: field,
    message,
  }));
}

interface Source {
  readonly offset: number;
  readonly root: unknown;
  readonly anchors: ReadonlyMap<string, Node>;
}
/** Positions in the text are computed only for errors. */
function lazySource({ text, offset }: DocumentText, maxLexemes: number): Source {
  let root: unknown;
  return {
    offset,
    get root() {
      return (root ??= parseYaml(text, maxLexemes).document?.contents);
    },
    anchors: new Map(),
  };
}
const acceptedKinds = `${manifestKindNames.join(', ')}, and List or lists of one of them`;

class Loader {
  readonly #text: string;
  readonly #options: LoadOptions;
  readonly #limits: ManifestLimits;
  readonly #pods: Pod[] = [];
  readonly #kept: KindedObject[] = [];
  readonly #errors: ManifestError[] = [];
  readonly #warnings: ManifestError[] = [];
  readonly #origins = new WeakMap<object, { source: Source; at: FieldPath }>();
  #objects = 0;

  constructor(text: string, options: LoadOptions) {
    this.#text = text.startsWith('\uFEFF') ? text.slice(1) : text;
    this.#options = options;
    this.#limits = { ...defaultManifestLimits, ...options.limits };
  }

  result(): LoadedManifest {
    return {
      pods: this.#pods,
      objects: this.#kept,
      errors: this.#errors,
      warnings: this.#warnings,
      locate: (object, path) => this.#locate(object, path),
    };
  }

  load(): void {
    const { maxBytes, maxDocuments } = this.#limits;
    const size = this.#text.length > maxBytes ? this.#text.length : Buffer.byteLength(this.#text);
    if (size > maxBytes) return this.#textError(0, `the manifest has ${size} bytes; at most ${maxBytes} are read`);
    const documents = splitDocuments(this.#text, maxDocuments);
    if (documents.length === 0) return this.#textError(0, `the manifest is empty; expected ${acceptedKinds}`);
    for (const [index, document] of documents.entries()) {
      if (index >= maxDocuments)
        return this.#textError(document.offset, `more than ${maxDocuments} documents; the rest was not read`);
      this.#document(document);
    }
  }

  #document(document: DocumentText): void {
    const plain = readPlainJson(document.text, this.#limits.maxDepth);
    if (plain !== undefined) return this.#object(lazySource(document, this.#limits.maxLexemes), plain.value, []);
    const parsed = parseYaml(document.text, this.#limits.maxLexemes);
    const syntax = parsed.errors[0];
    if (syntax !== undefined || parsed.document === undefined)
      return this.#syntaxError(document, syntax ?? { message: 'not readable', offset: 0 });
    const { value, problems, anchors } = toPlainValue(parsed.document, this.#limits);
    const source: Source = { offset: document.offset, root: parsed.document.contents, anchors };
    for (const problem of problems) {
      const warn = problem.duplicate && this.#options.mode !== 'strict';
      this.#report({
        offset: document.offset + problem.offset,
        path: formatFieldPath(problem.path),
        message: problem.message,
        warn,
      });
    }
    const usable = problems.every((problem) => problem.duplicate && this.#options.mode !== 'strict');
    if (usable) this.#object(source, value, []);
  }

  #syntaxError(document: DocumentText, syntax: { message: string; offset: number }): void {
    const atEnd = document.offset + syntax.offset >= this.#text.trimEnd().length;
    const hint = atEnd ? ' (the text ends here; was the file written to the end?)' : '';
    this.#textError(document.offset + syntax.offset, `not valid YAML or JSON: ${syntax.message}${hint}`);
  }

  #object(source: Source, value: unknown, at: FieldPath, listedKind?: ManifestKind): void {
    if (++this.#objects > this.#limits.maxObjects) {
      if (this.#objects === this.#limits.maxObjects + 1)
        this.#fieldError(source, at, `more than ${this.#limits.maxObjects} objects; the rest was not read`);
      return;
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return this.#fieldError(source, at, `expected an object with apiVersion and kind (${acceptedKinds})`);
    const { kind, apiVersion, items } = value as Record<string, unknown>;
    const name = kind ?? listedKind;
    if (name === undefined)
      return this.#fieldError(source, at, `the object has no kind; accepted are ${acceptedKinds}`);
    const known = manifestKindNames.find((candidate) => candidate === name);
    const listOf = manifestKindNames.find((candidate) => `${candidate}List` === name);
    if (known === undefined && listOf === undefined && name !== 'List')
      return this.#fieldError(
        source,
        [...at, 'kind'],
        `kind ${shown(name)} is not accepted; accepted are ${acceptedKinds}`,
      );
    const accepted = manifestKinds[known ?? listOf ?? 'Pod'].apiVersion;
    if (!(apiVersion === accepted || (apiVersion === undefined && listedKind !== undefined))) {
      const problem =
        apiVersion === undefined
          ? `the ${shown(name)} has no apiVersion`
          : `apiVersion ${shown(apiVersion)} of the ${shown(name)} is not accepted`;
      return this.#fieldError(
        source,
        apiVersion === undefined ? at : [...at, 'apiVersion'],
        `${problem}; accepted is "${accepted}"`,
      );
    }
    if (known !== undefined) return this.#decode(source, known, { value, at });
    if (at.length > 0) return this.#fieldError(source, at, 'a list inside a list is not accepted');
    this.#list(source, items, listOf);
  }

  #list(source: Source, items: unknown, kind: ManifestKind | undefined): void {
    if (items === undefined || items === null) return this.#fieldError(source, [], 'the list has no items');
    if (!Array.isArray(items)) return this.#fieldError(source, ['items'], 'expected a list');
    for (const [index, item] of items.entries()) this.#object(source, item, ['items', index], kind);
  }

  #decode<Kind extends ManifestKind>(
    source: Source,
    kind: Kind,
    { value, at }: { value: unknown; at: FieldPath },
  ): void {
    const rules = manifestKinds[kind];
    const decoded = rules.decode(value, {
      mode: this.#options.mode ?? 'lenient',
      at,
      maxDepth: this.#limits.maxDepth,
      maxProblems: this.#limits.maxErrors,
    });
    if (!this.#accept(source, decoded)) return;
    const object = rules.applyDefaults({ ...decoded.value, apiVersion: rules.apiVersion, kind });
    this.#origins.set(object, { source, at });
    // The pair matches by construction, but the compiler cannot see this for a type parameter.
    const entry = { kind, object } as Kinded<Kind> as Kinded<ManifestKind>;
    if (entry.kind === 'Pod') this.#pods.push(entry.object);
    else this.#kept.push(entry);
  }

  #accept(
    source: Source,
    { errors, warnings }: { readonly errors: readonly DecodeError[]; readonly warnings: readonly DecodeError[] },
  ): boolean {
    for (const error of errors) this.#fieldError(source, error.path, error.message);
    for (const warning of warnings) {
      const offset = source.offset + locate(source.root, warning.path, source.anchors);
      this.#report({
        offset,
        path: formatFieldPath(warning.path),
        message: `${warning.message} (ignored)`,
        warn: true,
      });
    }
    return errors.length === 0;
  }

  #locate(object: object, path: string): Position {
    const origin = this.#origins.get(object);
    if (origin === undefined) return { line: 1, column: 1 };
    return positionAt(
      this.#text,
      origin.source.offset + locate(origin.source.root, [...origin.at, ...parseFieldPath(path)], origin.source.anchors),
    );
  }

  #fieldError(source: Source, path: FieldPath, message: string): void {
    this.#report({
      offset: source.offset + locate(source.root, path, source.anchors),
      path: formatFieldPath(path),
      message,
      warn: false,
    });
  }

  #textError(offset: number, message: string): void {
    this.#report({ offset, path: '', message, warn: false });
  }

  #report({ offset, path, message, warn }: { offset: number; path: string; message: string; warn: boolean }): void {
    const list = warn ? this.#warnings : this.#errors;
    if (list.length >= this.#limits.maxErrors) return;
    list.push({ file: this.#options.fileName, ...positionAt(this.#text, offset), path, message });
  }
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 80)) : `(${typeof value})`;
}
