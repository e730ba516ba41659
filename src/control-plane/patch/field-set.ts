import { setOwn } from '../../api/schema/decode.ts';

/**
 * A set of fields, in the format of `fieldsV1` of a managedFields entry, so that no encoding is needed: a tree of path
 * elements (`f:spec`, `k:{"name":"web"}`, `v:"x"`). An element is a member of the set if it has no children, or `.`
 * among them. Sets are immutable; operations share subtrees. The empty set is `undefined` inside, never `{}`.
 */
export type FieldSet = { readonly [element: string]: FieldSet };

/** The node of a member without children; a single shared object. */
export const leaf: FieldSet = Object.freeze({});
const SELF = '.';

/** Whether the element of this node is in the set itself, and not only its descendants. */
export function isMember(node: FieldSet): boolean {
  return node === leaf || Object.hasOwn(node, SELF);
}

/** Whether a descendant of the element is in the set. Only `leaf` has no children, so no search is needed. */
export function hasChildren(node: FieldSet): boolean {
  return node !== leaf;
}

/** Builds the node of an element from whether it is a member and from its children; undefined if it is neither. */
export function makeNode(member: boolean, below: FieldSet | undefined): FieldSet | undefined {
  if (below === undefined) return member ? leaf : undefined;
  return !member || isMember(below) ? below : { [SELF]: leaf, ...below };
}

/**
 * Collects the children of a node, which may be a member itself. `build` returns undefined if it is not a member and
 * has no children.
 */
export class FieldSetBuilder {
  readonly #member: boolean;
  #fields: Record<string, FieldSet> | undefined;

  constructor(member = false) {
    this.#member = member;
  }

  add(element: string, node: FieldSet | undefined): void {
    if (node === undefined) return;
    this.#fields ??= this.#member ? { [SELF]: leaf } : {};
    setOwn(this.#fields, element, node);
  }

  build(): FieldSet | undefined {
    return this.#fields ?? (this.#member ? leaf : undefined);
  }
}

const childOf = (node: FieldSet, element: string): FieldSet | undefined =>
  Object.hasOwn(node, element) ? node[element] : undefined;

export function union(left: FieldSet | undefined, right: FieldSet | undefined): FieldSet | undefined {
  if (left === undefined || left === right) return right;
  if (right === undefined) return left;
  return combine(left, right);
}

function combine(left: FieldSet, right: FieldSet): FieldSet {
  let out: Record<string, FieldSet> | undefined;
  for (const element of Object.keys(right)) {
    const theirs = right[element] ?? leaf;
    const ours = childOf(left, element);
    const both = ours === undefined ? theirs : element === SELF ? leaf : combineNodes(ours, theirs);
    if (both === ours) continue;
    out ??= { ...left };
    setOwn(out, element, both);
  }
  return out ?? left;
}

function combineNodes(left: FieldSet, right: FieldSet): FieldSet {
  if (left === right) return left;
  if (left === leaf) return makeNode(true, right) ?? leaf;
  if (right === leaf) return makeNode(true, left) ?? leaf;
  return combine(left, right);
}

/** Returns the elements of `left` that are not in `right`. Removing a parent keeps its children. */
export function difference(left: FieldSet | undefined, right: FieldSet | undefined): FieldSet | undefined {
  return subtract(left, right, false);
}

/** Like `difference`, but also removes all descendants of members of `right`. */
export function recursiveDifference(left: FieldSet | undefined, right: FieldSet | undefined): FieldSet | undefined {
  return subtract(left, right, true);
}

function subtract(left: FieldSet | undefined, right: FieldSet | undefined, recursive: boolean): FieldSet | undefined {
  if (left === undefined || right === undefined) return left;
  const elements = Object.keys(right);
  if (elements.length > FEW_ELEMENTS) return subtractMany(left, right, recursive);
  let out: Record<string, FieldSet> | undefined;
  for (const element of elements) {
    const ours = childOf(left, element);
    if (ours === undefined || element === SELF) continue;
    const rest = subtractNode(ours, right[element] ?? leaf, recursive);
    if (rest === ours) continue;
    out ??= { ...left };
    if (rest === undefined) delete out[element];
    else setOwn(out, element, rest);
  }
  return out === undefined ? left : normalised(out);
}

/**
 * Up to this number of elements are deleted from a copy. More are skipped while copying, because deleting from large
 * objects is slow.
 */
const FEW_ELEMENTS = 50;

function subtractMany(left: FieldSet, right: FieldSet, recursive: boolean): FieldSet | undefined {
  const out = new FieldSetBuilder(Object.hasOwn(left, SELF));
  let changed = false;
  for (const element of Object.keys(left)) {
    if (element === SELF) continue;
    const ours = left[element] ?? leaf;
    const theirs = childOf(right, element);
    const rest = theirs === undefined ? ours : subtractNode(ours, theirs, recursive);
    changed ||= rest !== ours;
    out.add(element, rest);
  }
  return changed ? out.build() : left;
}

function normalised(set: FieldSet): FieldSet | undefined {
  for (const element in set) if (element !== SELF) return set;
  return Object.hasOwn(set, SELF) ? leaf : undefined;
}

function subtractNode(ours: FieldSet, theirs: FieldSet, recursive: boolean): FieldSet | undefined {
  const taken = isMember(theirs);
  if (taken && recursive) return undefined;
  if (ours === leaf) return taken ? undefined : ours;
  const rest = theirs === leaf ? ours : subtract(ours, theirs, recursive);
  if (!taken || rest === undefined || !isMember(rest)) return rest;
  if (rest === leaf) return undefined;
  const { [SELF]: _, ...below } = rest;
  return below;
}

export function intersection(left: FieldSet | undefined, right: FieldSet | undefined): FieldSet | undefined {
  return left === undefined || right === undefined ? undefined : intersect(left, right, false);
}

function intersect(left: FieldSet, right: FieldSet, member: boolean): FieldSet | undefined {
  if (left === right) return left;
  const out = new FieldSetBuilder(member);
  for (const element of Object.keys(left)) {
    const theirs = childOf(right, element);
    const ours = left[element] ?? leaf;
    if (theirs !== undefined && element !== SELF)
      out.add(element, intersect(ours, theirs, isMember(ours) && isMember(theirs)));
  }
  return out.build();
}

export function hasPath(set: FieldSet | undefined, path: readonly string[]): boolean {
  let node = set;
  for (const element of path) node = node === undefined ? undefined : childOf(node, element);
  return node !== undefined && path.length > 0 && isMember(node);
}

export function equalSets(left: FieldSet | undefined, right: FieldSet | undefined): boolean {
  if (left === right) return true;
  if (left === undefined || right === undefined) return false;
  const elements = Object.keys(left);
  if (elements.length !== Object.keys(right).length) return false;
  return elements.every((element) => Object.hasOwn(right, element) && equalSets(left[element], right[element]));
}

/**
 * Returns the path of every member, parents before children, with elements in the order of the API server: fields,
 * keys, values, indexes.
 */
export function pathsOf(set: FieldSet | undefined, prefix: readonly string[] = []): (readonly string[])[] {
  if (set === undefined) return [];
  const paths: (readonly string[])[] = [];
  const elements = Object.keys(set)
    .filter((element) => element !== SELF)
    .sort(compareElements);
  for (const element of elements) if (isMember(set[element] ?? leaf)) paths.push([...prefix, element]);
  for (const element of elements)
    paths.push(...pathsOf(hasChildren(set[element] ?? leaf) ? set[element] : undefined, [...prefix, element]));
  return paths;
}

const KINDS = 'fkvi';

function compareElements(left: string, right: string): number {
  const order = KINDS.indexOf(left[0] ?? '') - KINDS.indexOf(right[0] ?? '');
  return order !== 0 ? order : compareScalars(left, right);
}

/**
 * Sorts the elements as the API server writes them: `.`, fields by name, keys and values by their decoded values (so 9
 * comes before 80), then indexes (upstream: structured-merge-diff PathElement.Compare). Keys and values are parsed once
 * each. Returns the same list if it is sorted.
 */
export function inWrittenOrder(elements: readonly string[]): readonly string[] {
  // Most sets contain only fields, whose texts are sorted directly.
  if (elements.every((element) => element === SELF || element.startsWith('f:')))
    return elements.every((element, at) => at === 0 || (elements[at - 1] ?? '') < element)
      ? elements
      : elements.toSorted();
  let before: Ordered | undefined;
  let isSorted = true;
  const ordered = elements.map((element) => {
    const next = orderOf(element);
    if (before !== undefined && compareOrdered(before, next) > 0) isSorted = false;
    return (before = next);
  });
  return isSorted ? elements : ordered.sort(compareOrdered).map(({ element }) => element);
}

interface Ordered {
  readonly element: string;
  readonly kind: number;
  /** The values by which two elements of one kind are compared, one after another. */
  readonly parts: readonly unknown[];
}

/**
 * `k:{"name":"web"}` and `v:"web"` in their canonical form, with characters that are not escaped: most keys of lists.
 * They need no parsing, which takes long.
 */
export const plainElement =
  /^(?:k:\{"([^"\\<>&\u2028\u2029\ud800-\udfff\u0000-\u001f]*)":"([^"\\<>&\u2028\u2029\ud800-\udfff\u0000-\u001f]*)"\}|v:"([^"\\<>&\u2028\u2029\ud800-\udfff\u0000-\u001f]*)")$/;

function orderOf(element: string): Ordered {
  const plain = plainElement.exec(element);
  if (plain !== null) {
    const [, name, key, value] = plain;
    return { element, kind: KINDS.indexOf(element[0] ?? ''), parts: name === undefined ? [value] : [name, key] };
  }
  const kind = KINDS.indexOf(element[0] ?? '');
  const content = element.slice(2);
  if (element[0] === 'i') return { element, kind, parts: [Number(content)] };
  if (element[0] !== 'k' && element[0] !== 'v') return { element, kind, parts: [content] };
  const value = parsed(content);
  const parts =
    element[0] === 'k' && typeof value === 'object' && value !== null
      ? Object.entries(value)
          .sort(([left], [right]) => compareScalars(left, right))
          .flat()
      : [value];
  return { element, kind, parts };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function compareOrdered(left: Ordered, right: Ordered): number {
  if (left.kind !== right.kind) return left.kind - right.kind;
  const most = Math.max(left.parts.length, right.parts.length);
  for (let at = 0; at < most; at++) {
    if (at >= left.parts.length || at >= right.parts.length) return left.parts.length - right.parts.length;
    const order = compareScalars(left.parts[at], right.parts[at]);
    if (order !== 0) return order;
  }
  return compareScalars(left.element, right.element);
}

const types: readonly string[] = ['number', 'string', 'boolean'];

function compareScalars(left: unknown, right: unknown): number {
  const order = types.indexOf(typeof left) - types.indexOf(typeof right);
  if (order !== 0) return order;
  if (typeof left === 'string' && typeof right === 'string') return left < right ? -1 : left > right ? 1 : 0;
  return Number(left) - Number(right);
}
