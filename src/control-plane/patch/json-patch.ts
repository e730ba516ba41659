import { isRecord } from '../../base/json-record.ts';
import { setOwn } from '../../api/schema/decode.ts';
import { ApiStatusError, badRequest } from '../../api/status/api-status-error.ts';
import { equalJson, isDeeperThan, jsonTypeName } from './json-value.ts';
import type { JsonObject } from './json-value.ts';
import { checkDepth, MAX_DEPTH } from './patch-limits.ts';

const MAX_OPERATIONS = 10_000;
/** The maximum number of JSON bytes that all copy operations of a patch may add (apiserver: JSONPatchMaxCopyBytes). */
const MAX_COPY_BYTES = 3 * 1024 * 1024;
/**
 * The maximum number of list elements that insertions and removals may move. Otherwise a patch of allowed size could
 * keep the server busy for minutes.
 */
const MAX_MOVED_ELEMENTS = 25_000_000;

interface Operation {
  readonly op: string;
  readonly path: string | undefined;
  readonly from: string | undefined;
  readonly value: unknown;
}

/**
 * Applies a JSON patch (RFC 6902) completely or not at all, without changing its arguments. As in upstream, negative
 * indexes count from the end, and `replace` of a missing field sets it. Throws BadRequest for an invalid patch,
 * RequestEntityTooLarge, and Invalid if an operation does not apply; the reason is in the cause, because upstream's
 * message does not contain it.
 */
export function applyJsonPatch(document: JsonObject, patch: unknown): unknown {
  const operations = readOperations(patch);
  if (operations.length > MAX_OPERATIONS) {
    throw new ApiStatusError(
      'RequestEntityTooLarge',
      `The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${operations.length}`,
    );
  }
  const patcher = new Patcher(document);
  try {
    for (const operation of operations) patcher.run(operation);
    checkShallow(patcher.document);
  } catch (error) {
    if (!(error instanceof PatchFailure)) throw error;
    throw new ApiStatusError(
      'Invalid',
      'the server rejected our request due to an error in our request',
      {},
      { cause: error },
    );
  }
  return patcher.document;
}

/** Returns unknown fields of operations, in the words of strict decoding: `json patch unknown field "[0].vaule"`. */
export function unknownOperationFields(patch: unknown): readonly string[] {
  if (!Array.isArray(patch)) return [];
  return patch.flatMap((operation: unknown, index) =>
    isRecord(operation)
      ? Object.keys(operation)
          .filter((key) => !['op', 'path', 'from', 'value'].includes(key))
          .map((key) => `json patch unknown field ${JSON.stringify(`[${index}].${key}`)}`)
      : [],
  );
}

function readOperations(patch: unknown): readonly Operation[] {
  if (patch === null) return [];
  if (!Array.isArray(patch))
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${jsonTypeName(patch)} into Go value of type []handlers.jsonPatchOp`,
    );
  checkDepth(patch);
  return patch.map(readOperation);
}

function readOperation(input: unknown): Operation {
  if (!isRecord(input))
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${jsonTypeName(input)} into Go value of type handlers.jsonPatchOp`,
    );
  const text = (key: 'op' | 'path' | 'from'): string | undefined => {
    const value = Object.hasOwn(input, key) ? (input[key] ?? undefined) : undefined;
    if (value === undefined || typeof value === 'string') return value;
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${jsonTypeName(value)} into Go struct field jsonPatchOp.${key} of type string`,
    );
  };
  return {
    op: text('op') ?? 'unknown',
    path: text('path'),
    from: text('from'),
    value: Object.hasOwn(input, 'value') ? (input['value'] ?? null) : null,
  };
}

/** An operation that does not apply, and why. */
class PatchFailure extends Error {
  override readonly name: string = 'PatchFailure';
}

/** The value at the path of a `test` is another. */
class TestFailure extends PatchFailure {
  override readonly name = 'TestFailure';
}

/** Whether a patch was refused because one of its tests failed. */
export const isFailedTest = (error: unknown): boolean =>
  error instanceof ApiStatusError && error.cause instanceof TestFailure;

type Container = Record<string, unknown> | unknown[];
/** What a path is looked up for. */
type Purpose = 'add' | 'remove' | 'replace' | 'test' | 'move from' | 'move to' | 'copy from' | 'copy to';
interface Place {
  readonly parent: Container;
  readonly key: string;
}

/** A document with copy-on-write containers, so that the cost of many operations is the sum of their single costs. */
class Patcher {
  document: unknown;
  readonly #own = new WeakSet<object>();
  #copiedBytes = 0;
  #movedElements = 0;

  constructor(document: unknown) {
    this.document = document;
  }

  run(operation: Operation): void {
    const { op, value } = operation;
    switch (op) {
      case 'add':
        return this.#add(pathOf(operation), value, 'add');
      case 'remove':
        return void this.#remove(pathOf(operation), 'remove');
      case 'replace':
        return this.#replace(pathOf(operation), value);
      case 'move': {
        const moved = this.#remove(fromOf(operation), 'move from');
        return this.#add(pathOf(operation), moved, 'move to');
      }
      case 'copy':
        return this.#add(pathOf(operation), this.#copyOf(this.#get(fromOf(operation), 'copy from')), 'copy to');
      case 'test':
        return this.#test(pathOf(operation), value);
      default:
        throw new PatchFailure(`Unexpected kind: ${op}`);
    }
  }

  #add(path: string, value: unknown, purpose: Purpose): void {
    const { parent, key } = this.#find(path, purpose);
    if (!Array.isArray(parent)) return setOwn(parent, key, value);
    const index = key === '-' ? parent.length : indexOf(key, parent.length + 1, parent.length, errorIn(purpose, path));
    this.#count(parent.length - index);
    parent.splice(index, 0, value);
  }

  #remove(path: string, purpose: 'remove' | 'move from'): unknown {
    const { parent, key } = this.#find(path, purpose);
    const errorHere = errorIn(purpose, purpose === 'remove' ? path : key);
    if (Array.isArray(parent)) {
      const index = indexOf(key, parent.length, parent.length - 1, errorHere);
      this.#count(parent.length - index);
      return parent.splice(index, 1)[0];
    }
    if (!Object.hasOwn(parent, key))
      throw new PatchFailure(`${errorHere}Unable to remove nonexistent key: ${key}: missing value`);
    const removed = parent[key];
    delete parent[key];
    return removed;
  }

  #replace(path: string, value: unknown): void {
    if (path === '') {
      if (typeof value !== 'object' || value === null)
        throw new PatchFailure('replace operation value must be object or array');
      this.document = value;
      return;
    }
    const { parent, key } = this.#find(path, 'replace');
    if (Array.isArray(parent)) parent[indexOf(key, parent.length, parent.length - 1)] = value;
    else setOwn(parent, key, value);
  }

  #test(path: string, value: unknown): void {
    const found = path === '' ? this.document : this.#get(path, 'test');
    if (!equalJson(found ?? null, value)) throw new TestFailure(`testing value ${path} failed`);
  }

  /** Returns the value at a path; undefined for a missing field. */
  #get(path: string, purpose: 'test' | 'copy from'): unknown {
    const { parent, key } = this.#find(path, purpose);
    if (Array.isArray(parent)) return parent[indexOf(key, parent.length, parent.length - 1)];
    return Object.hasOwn(parent, key) ? parent[key] : undefined;
  }

  /** Copies deeply, because each copy may be changed independently afterwards. */
  #copyOf(value: unknown): unknown {
    if (value === undefined) return null;
    checkShallow(value);
    this.#copiedBytes += JSON.stringify(value, (_key, entry: unknown) =>
      typeof entry === 'bigint' ? Number(entry) : entry,
    ).length;
    if (this.#copiedBytes <= MAX_COPY_BYTES) return deepCopy(value);
    throw new PatchFailure(
      `Unable to complete the copy, the accumulated size increase of copy is ${this.#copiedBytes}, exceeding the limit ${MAX_COPY_BYTES}`,
    );
  }

  #count(elements: number): void {
    this.#movedElements += elements;
    if (this.#movedElements > MAX_MOVED_ELEMENTS) throw new PatchFailure('the patch moves too many elements');
  }

  /** Returns the container of a path. It is copied unless it is only read. */
  #find(path: string, purpose: Purpose): Place {
    const [first, ...keys] = path.split('/').map(unescapeKey);
    const key = keys.pop();
    const changes = purpose !== 'test' && purpose !== 'copy from';
    const missing = (): PatchFailure => new PatchFailure(`${missingPath(purpose, path)}: missing value`);
    if (key === undefined || first === undefined) throw missing();
    let at = changes ? (this.document = this.#ours(this.document)) : this.document;
    for (const step of keys) {
      if (!isContainer(at)) throw missing();
      const index = Array.isArray(at) ? String(indexOf(step, at.length, at.length - 1)) : step;
      if (!Object.hasOwn(at, index)) throw missing();
      const container = at as Record<string, unknown>;
      let next = container[index];
      if (changes && isContainer(next) && !this.#own.has(next)) {
        next = this.#ours(next);
        setOwn(container, index, next);
      }
      at = next;
    }
    if (!isContainer(at)) throw missing();
    return { parent: at, key };
  }

  #ours(value: unknown): unknown {
    if (!isContainer(value) || this.#own.has(value)) return value;
    const copy: Container = Array.isArray(value) ? [...value] : { ...value };
    this.#own.add(copy);
    return copy;
  }
}

function pathOf({ op, path }: Operation): string {
  if (path === undefined) throw new PatchFailure(`${op} operation failed to decode path: missing value`);
  return path;
}

function fromOf({ op, from }: Operation): string {
  if (from === undefined) throw new PatchFailure(`${op} operation failed to decode from: missing value`);
  return from;
}

const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;
const unescapeKey = (key: string): string =>
  key.includes('~') ? key.replaceAll(/~[01]/g, (escape) => (escape === '~1' ? '/' : '~')) : key;

/** The words of upstream's library, which differ from one operation to the next. */
function missingPath(purpose: Purpose, path: string): string {
  const [op = '', direction] = purpose.split(' ');
  const start = `${op} operation does not apply:`;
  if (direction !== undefined)
    return `${start} doc is missing ${direction === 'to' ? 'destination' : 'from'} path: ${path}`;
  if (op === 'test') return `${start} is missing path: ${path}`;
  return `${start} doc is missing path: ${op === 'replace' ? path : JSON.stringify(path)}`;
}

/** The beginning of the message about a key. */
const errorIn = (purpose: Purpose, path: string): string => `error in ${purpose.split(' ')[0]} for path: '${path}': `;

function indexOf(key: string, size: number, last: number, start = ''): number {
  if (!/^[-+]?\d{1,9}$/.test(key)) throw new PatchFailure(`value was not a proper array index: '${key}'`);
  const number = Number(key);
  const index = number < 0 ? number + size : number;
  if (index < 0 || index > last)
    throw new PatchFailure(`${start}Unable to access invalid index: ${number}: invalid index referenced`);
  return index;
}

/** Checks the depth, because a sequence of operations can nest values without limit. */
function checkShallow(value: unknown): void {
  if (isDeeperThan(value, MAX_DEPTH)) throw new PatchFailure(`nested deeper than ${MAX_DEPTH} levels`);
}

function deepCopy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(deepCopy);
  if (!isRecord(value)) return value;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) setOwn(copy, key, deepCopy(value[key]));
  return copy;
}
