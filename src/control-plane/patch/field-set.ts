import { setOwn } from '../../api/schema/decode.ts';

/**
 * Fields of an object, just as `fieldsV1` of a managedFields entry writes them, so nothing is ever encoded or decoded: a tree of path elements (`f:spec`,
 * `k:{"name":"web"}`, `v:"x"`), in which an element is a member of the set if it has nothing below it, or `.` beside what it has.
 * Sets are never changed; operations share what they can. The empty set is `undefined` inside, never `{}`.
 */
export type FieldSet = { readonly [element: string]: FieldSet };

/** What stands below a member without children. One object for all of them. */
export const leaf: FieldSet = Object.freeze({});
const self = '.';

export function hasNothingBelow(node: FieldSet): boolean {
  for (const _ in node) return false;
  return true;
}

/** Whether the element with this node is itself in the set, not only something below it. */
export function isMember(node: FieldSet): boolean {
  return Object.hasOwn(node, self) || hasNothingBelow(node);
}

/** Whether anything below the element is in the set. */
export function hasChildren(node: FieldSet): boolean {
  for (const key in node) if (key !== self) return true;
  return false;
}

/** The node of an element, from whether it is a member and what is below it; undefined for neither. */
export function makeNode(member: boolean, below: FieldSet | undefined): FieldSet | undefined {
  if (below === undefined) return member ? leaf : undefined;
  if (!member || Object.hasOwn(below, self)) return below;
  return { [self]: leaf, ...below };
}

/** Collects elements; `build` gives undefined when there were none. */
export class FieldSetBuilder {
  #fields: Record<string, FieldSet> | undefined;

  add(element: string, node: FieldSet | undefined): void {
    if (node === undefined) return;
    this.#fields ??= {};
    setOwn(this.#fields, element, node);
  }

  build(): FieldSet | undefined {
    return this.#fields;
  }
}

const childOf = (node: FieldSet, element: string): FieldSet | undefined => (Object.hasOwn(node, element) ? node[element] : undefined);

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
    const both = ours === undefined ? theirs : element === self ? leaf : combineNodes(ours, theirs);
    if (both === ours) continue;
    out ??= { ...left };
    setOwn(out, element, both);
  }
  return out ?? left;
}

function combineNodes(left: FieldSet, right: FieldSet): FieldSet {
  if (left === right) return left;
  const member = isMember(left) || isMember(right);
  if (hasNothingBelow(left)) return makeNode(member, hasNothingBelow(right) ? undefined : right) ?? leaf;
  if (hasNothingBelow(right)) return makeNode(member, left) ?? leaf;
  return combine(left, right);
}

/** What is in `left` and not in `right`, element by element: taking away a parent leaves its children. */
export function difference(left: FieldSet | undefined, right: FieldSet | undefined): FieldSet | undefined {
  return subtract(left, right, false);
}

/** As `difference`, but with every member of `right` goes all that is below it. */
export function recursiveDifference(left: FieldSet | undefined, right: FieldSet | undefined): FieldSet | undefined {
  return subtract(left, right, true);
}

function subtract(left: FieldSet | undefined, right: FieldSet | undefined, recursive: boolean): FieldSet | undefined {
  if (left === undefined || right === undefined) return left;
  let out: Record<string, FieldSet> | undefined;
  for (const element of Object.keys(right)) {
    const ours = childOf(left, element);
    if (ours === undefined || element === self) continue;
    const rest = subtractNode(ours, right[element] ?? leaf, recursive);
    if (rest === ours) continue;
    out ??= { ...left };
    if (rest === undefined) delete out[element];
    else setOwn(out, element, rest);
  }
  return out === undefined ? left : hasNothingBelow(out) ? undefined : out;
}

function subtractNode(ours: FieldSet, theirs: FieldSet, recursive: boolean): FieldSet | undefined {
  const taken = isMember(theirs);
  if (taken && recursive) return undefined;
  const member = isMember(ours);
  if (!hasChildren(ours)) return member && !taken ? ours : undefined;
  const below = subtract(ours, theirs, recursive);
  if (!member || !taken) return below === undefined ? undefined : member && !hasChildren(below) ? leaf : below;
  return withoutSelf(below);
}

function withoutSelf(node: FieldSet | undefined): FieldSet | undefined {
  if (node === undefined || !hasChildren(node)) return undefined;
  const { [self]: _, ...rest } = node;
  return rest;
}

export function intersection(left: FieldSet | undefined, right: FieldSet | undefined): FieldSet | undefined {
  if (left === undefined || right === undefined) return undefined;
  if (left === right) return left;
  const out = new FieldSetBuilder();
  for (const element of Object.keys(left)) {
    const theirs = childOf(right, element);
    const ours = left[element] ?? leaf;
    if (theirs === undefined || element === self) continue;
    const member = isMember(ours) && isMember(theirs);
    out.add(element, makeNode(member, hasChildren(ours) && hasChildren(theirs) ? withoutSelf(intersection(ours, theirs)) : undefined));
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

/** Every member's path, parents before children, elements in the order of the API server: fields, keys, values, indexes. */
export function pathsOf(set: FieldSet | undefined, prefix: readonly string[] = []): (readonly string[])[] {
  if (set === undefined) return [];
  const paths: (readonly string[])[] = [];
  const elements = Object.keys(set)
    .filter((element) => element !== self)
    .sort(compareElements);
  for (const element of elements) if (isMember(set[element] ?? leaf)) paths.push([...prefix, element]);
  for (const element of elements) paths.push(...pathsOf(hasChildren(set[element] ?? leaf) ? set[element] : undefined, [...prefix, element]));
  return paths;
}

function compareElements(left: string, right: string): number {
  const order = kinds.indexOf(left[0] ?? '') - kinds.indexOf(right[0] ?? '');
  return order !== 0 ? order : left < right ? -1 : left > right ? 1 : 0;
}

const kinds = 'fkvi';
