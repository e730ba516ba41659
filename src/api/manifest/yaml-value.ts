import { Buffer } from 'node:buffer';
import { isAlias, isMap, isScalar, isSeq } from 'yaml';
import type { Document, Node, Pair, Scalar, YAMLMap } from 'yaml';
import { formatFieldPath } from '../schema/field-path.ts';
import type { FieldPath, PathStep } from '../schema/field-path.ts';
import { setOwn } from '../schema/decode.ts';
import { resolvePlainScalar } from './yaml-scalar.ts';

export interface YamlLimits {
  readonly maxDepth: number;
  /** The limit for values that aliases add to a document. The document itself is limited in bytes. */
  readonly maxAliasValues: number;
}
export interface YamlProblem {
  readonly path: FieldPath;
  readonly message: string;
  readonly offset: number;
  /** Where the value of a duplicate key begins. */
  readonly valueOffset?: number;
  /** For a duplicate key the last value is used. Any other error makes the document unusable. */
  readonly duplicate: boolean;
}

/** Thrown to end a conversion; caught in this file. */
class Unusable extends Error {
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/**
 * Converts a parsed document to a plain value. It resolves aliases and merge keys within limits, and collects duplicate
 * keys.
 */
export function toPlainValue(
  document: Document,
  limits: YamlLimits,
): { value: unknown; problems: readonly YamlProblem[]; anchors: ReadonlyMap<string, Node> } {
  const converter = new Converter(limits);
  try {
    return { value: converter.convert(document.contents, 0), problems: converter.problems, anchors: converter.anchors };
  } catch (error) {
    if (!(error instanceof Unusable)) throw error;
    const problem: YamlProblem = {
      path: converter.path(),
      message: error.message,
      offset: error.offset,
      duplicate: false,
    };
    return { value: undefined, problems: [...converter.problems, problem], anchors: converter.anchors };
  }
}

class Converter {
  readonly problems: YamlProblem[] = [];
  readonly anchors = new Map<string, Node>();
  readonly #limits: YamlLimits;
  readonly #path: PathStep[] = [];
  /** Anchored nodes that are being expanded. If one occurs again, the document contains itself. */
  readonly #open = new Set<Node>();
  #aliasDepth = 0;
  #aliasValues = 0;

  constructor(limits: YamlLimits) {
    this.#limits = limits;
  }

  path(): FieldPath {
    return [...this.#path];
  }

  convert(node: unknown, depth: number): unknown {
    if (node === null || node === undefined) return null;
    if (depth > this.#limits.maxDepth)
      throw new Unusable(`nested deeper than ${this.#limits.maxDepth} levels`, offsetOf(node));
    if (this.#aliasDepth > 0 && ++this.#aliasValues > this.#limits.maxAliasValues) {
      throw new Unusable(`aliases expand to more than ${this.#limits.maxAliasValues} values`, offsetOf(node));
    }
    if (isAlias(node)) return this.#alias(node.source, node, depth);
    const { anchor } = node as { anchor?: string };
    if (anchor === undefined) return this.#content(node, depth);
    if (this.#aliasDepth === 0) this.anchors.set(anchor, node as Node);
    this.#open.add(node as Node);
    try {
      return this.#content(node, depth);
    } finally {
      this.#open.delete(node as Node);
    }
  }

  #content(node: unknown, depth: number): unknown {
    if (isScalar(node)) return scalarValue(node);
    if (isSeq(node)) {
      return node.items.map((item, index) => this.#child(index, item, depth));
    }
    if (isMap(node)) return this.#map(node, depth);
    throw new Unusable('this is not a value', offsetOf(node));
  }

  #alias(name: string, node: unknown, depth: number): unknown {
    const target = this.anchors.get(name);
    if (target === undefined) throw new Unusable(`alias *${name} names no anchor before it`, offsetOf(node));
    if (this.#open.has(target)) throw new Unusable(`anchor &${name} contains itself`, offsetOf(node));
    this.#aliasDepth++;
    try {
      return this.convert(target, depth);
    } finally {
      this.#aliasDepth--;
    }
  }

  #map(map: YAMLMap, depth: number): Record<string, unknown> {
    const value: Record<string, unknown> = {};
    const seen = new Set<string>();
    const merges: unknown[] = [];
    for (const pair of map.items) {
      const key = keyText(pair);
      if (key === '<<' && isPlain(pair.key)) {
        merges.push(pair.value);
        continue;
      }
      setOwn(value, key, this.#child(key, pair.value, depth));
      if (seen.has(key)) this.#duplicate(key, pair);
      seen.add(key);
    }
    for (const source of merges) this.#merge(value, source, depth);
    return value;
  }

  #duplicate(key: string, pair: Pair): void {
    const path = [...this.#path, key];
    this.problems.push({
      path,
      message: `duplicate field ${JSON.stringify(formatFieldPath(path))}; the last one counts`,
      offset: offsetOf(pair.key),
      duplicate: true,
      valueOffset: Math.max(offsetOf(pair.key), offsetOf(pair.value)),
    });
  }

  #merge(value: Record<string, unknown>, source: unknown, depth: number): void {
    const merged = this.convert(source, depth + 1);
    for (const part of Array.isArray(merged) ? merged : [merged]) {
      if (typeof part !== 'object' || part === null || Array.isArray(part))
        throw new Unusable('a merge key (<<) takes a map or a list of maps', offsetOf(source));
      for (const [key, entry] of Object.entries(part)) if (!Object.hasOwn(value, key)) setOwn(value, key, entry);
    }
  }

  #child(step: PathStep, node: unknown, depth: number): unknown {
    this.#path.push(step);
    const value = this.convert(node, depth + 1);
    this.#path.pop();
    return value;
  }
}

function keyText(pair: Pair): string {
  const { key } = pair;
  if (!isScalar(key)) throw new Unusable('a key must be a simple word', offsetOf(key ?? pair.value));
  refuseHalves(key);
  if (key.value === '' && isPlain(key)) throw new Unusable('a key is missing before the colon', offsetOf(key));
  return String(key.value);
}

/** Go's parser also rejects an escape for half of a surrogate pair. */
function refuseHalves(scalar: Scalar): void {
  if (typeof scalar.value === 'string' && !scalar.value.isWellFormed())
    throw new Unusable('found invalid Unicode character escape code', offsetOf(scalar));
}

function scalarValue(scalar: Scalar): unknown {
  refuseHalves(scalar);
  const text = typeof scalar.value === 'string' ? scalar.value : '';
  switch (scalar.tag) {
    case undefined:
    case '!':
    case 'tag:yaml.org,2002:str':
      return isPlain(scalar) && scalar.tag === undefined ? resolvePlainScalar(text) : text;
    case 'tag:yaml.org,2002:int':
    case 'tag:yaml.org,2002:float':
    case 'tag:yaml.org,2002:bool':
    case 'tag:yaml.org,2002:null':
      return resolvePlainScalar(text);
    case 'tag:yaml.org,2002:binary':
      return Buffer.from(text, 'base64').toString('utf8');
    default:
      throw new Unusable(`tag ${scalar.tag} is not understood`, offsetOf(scalar));
  }
}

function isPlain(node: unknown): boolean {
  return isScalar(node) && (node.type === 'PLAIN' || node.type === undefined || node.type === null);
}

/** The position of a node in the text of its document. */
function offsetOf(node: unknown): number {
  const { range } = (node ?? {}) as { range?: readonly number[] | null };
  return range?.[0] ?? 0;
}

/** The offset of the value at `path`, or of its nearest existing parent. */
export function locate(root: unknown, path: FieldPath, anchors: ReadonlyMap<string, Node>): number {
  let node: unknown = root;
  let offset = offsetOf(root);
  for (const step of path) {
    if (isAlias(node)) node = anchors.get(node.source);
    const next = childOf(node, step);
    if (next === undefined) break;
    offset = next.offset;
    node = next.node;
  }
  return offset;
}

function childOf(node: unknown, step: PathStep): { node: unknown; offset: number } | undefined {
  if (isSeq(node) && typeof step === 'number') {
    const item = node.items[step];
    return item === undefined ? undefined : { node: item, offset: offsetOf(item) };
  }
  if (!isMap(node)) return undefined;
  const name = typeof step === 'object' ? step.key : String(step);
  const pair = node.items.findLast((candidate) => isScalar(candidate.key) && String(candidate.key.value) === name);
  return pair === undefined ? undefined : { node: pair.value, offset: offsetOf(pair.key) };
}
