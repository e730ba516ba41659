import { isRecord } from '../../base/json-record.ts';
import { PatternBudget } from '../../base/pattern-budget.ts';
import { goQuote } from '../go-quote.ts';
import { FieldErrors } from '../validation/field-error.ts';
import type { FieldError } from '../validation/field-error.ts';
import { checkNumber, checkString, jsonTypeOf } from './check-scalar.ts';
import { fieldOf, invalid } from './finding.ts';
import type { Finding } from './finding.ts';
import { matchesFormat } from './formats.ts';
import type { JsonObject } from './prune.ts';
import { canonicalJson, fieldNode } from './schema-node.ts';
import type { SchemaNode } from './schema-node.ts';

/** The result of a check. If several alternatives fail, the one with the most matches is reported. */
interface Result {
  readonly findings: Finding[];
  matches: number;
}

/** The value at the same position before the write; undefined if there is nothing to compare. */
interface Before {
  readonly value: unknown;
}

/**
 * The limit for checks of one value. Each takes about 250 ns, and more checks would hold the event loop for more than
 * 100 ms.
 */
const MOST_STEPS = 400_000;
/**
 * The cost per character of a pattern that is an automaton with few states. For other patterns, their own budget
 * applies.
 */
const STEPS_OF_A_CHARACTER = 0.4;

/**
 * Validates a value by its schema, with upstream's messages (kube-openapi validate). `old` is the value before an
 * update: errors in unchanged parts are not reported (upstream: validation/ratcheting.go). The number of steps is
 * limited; a value that needs more is rejected.
 */
export function validateValue(value: unknown, root: SchemaNode, old?: { readonly value: unknown }): FieldError[] {
  const check = new Check();
  const { findings } = check.node(value, root, { path: '', before: old, isRoot: true });
  const errors = new FieldErrors();
  if (check.isOutOfTime)
    errors.invalidHidden(
      '<nil>',
      'a pattern of the schema could take too long for the texts of the value; use shorter texts or a simpler pattern',
    );
  else if (check.isExhausted)
    errors.invalidHidden(
      '<nil>',
      `the value and its schema need more than ${MOST_STEPS} checks; use a smaller value or a schema with fewer alternatives`,
    );
  else for (const finding of findings) finding(errors);
  return errors.list;
}

interface At {
  readonly path: string;
  readonly before: Before | undefined;
  readonly isRoot?: boolean;
}

class Check {
  readonly #patterns = new PatternBudget();
  #steps = 0;
  isOutOfTime = false;

  get isExhausted(): boolean {
    return this.isOutOfTime || this.#steps > MOST_STEPS;
  }

  /** A value that is equal to its old value passes, even if it is invalid. */
  node(value: unknown, node: SchemaNode, at: At): Result {
    const result = this.#plain(value, node, at);
    if (result.findings.length === 0 || at.before === undefined) return result;
    const isSame = at.before.value === value || canonicalJson(at.before.value) === canonicalJson(value);
    return isSame ? { findings: [], matches: result.matches } : result;
  }

  #plain(value: unknown, node: SchemaNode, at: At): Result {
    const result: Result = { findings: [], matches: 1 };
    this.#steps++;
    if (this.isExhausted) return result;
    this.#type(result, value, node, at);
    if (value !== null) {
      this.#alternatives(result, value, node, at);
      this.#content(result, value, node, at);
    }
    this.#enum(result, value, node, at);
    if (isRecord(value)) this.#fields(result, value, node, at);
    return result;
  }

  #type(result: Result, value: unknown, { types, nullable }: SchemaNode, { path }: At): void {
    if (types.length === 0) return;
    const found = jsonTypeOf(value);
    if (found === 'null') {
      if (!nullable) fail(result, typeError(path, types.join(','), 'null'));
      return;
    }
    const fits = types.includes(found) || (found === 'integer' && types.includes('number'));
    if (!fits) fail(result, typeError(path, types.join(','), found));
    else result.matches++;
  }

  #content(result: Result, value: unknown, node: SchemaNode, at: At): void {
    if (typeof value === 'string') {
      if (node.pattern !== undefined) this.#steps += Math.ceil(value.length * STEPS_OF_A_CHARACTER);
      if (this.isExhausted) return;
      const found = checkString(value, node, at.path, this.#patterns);
      if (found === 'no-time') {
        this.isOutOfTime = true;
        return;
      }
      for (const finding of found) fail(result, finding);
      const { format } = node.json;
      if (format !== undefined && (node.type === 'string' || node.type === '') && !matchesFormat(format, value))
        fail(result, typeError(at.path, format, value));
    } else if (typeof value === 'number' || typeof value === 'bigint') {
      for (const finding of checkNumber(value, node, at.path)) fail(result, finding);
    } else if (Array.isArray(value)) this.#items(result, value, node, at);
    result.matches++;
  }

  #enum(result: Result, value: unknown, { allowed, json }: SchemaNode, { path }: At): void {
    if (allowed === undefined) return;
    if (allowed.has(canonicalJson(value))) {
      result.matches++;
      return;
    }
    const shown = (json.enum ?? []).map((each) => (typeof each === 'string' ? each : canonicalJson(each)));
    fail(result, (errors) => errors.notSupported(fieldOf(path), value, shown));
  }

  #items(result: Result, items: readonly unknown[], node: SchemaNode, { path, before }: At): void {
    const olds = node.listType === 'map' ? oldItems(node, before) : undefined;
    if (node.items !== undefined)
      for (const [index, item] of items.entries()) {
        const old = olds?.get(itemKey(node, item));
        merge(result, this.node(item, node.items, { path: `${path}[${index}]`, before: old }));
        if (this.isExhausted) return;
      }
    const { minItems, maxItems, uniqueItems } = node.json;
    const count = items.length;
    if (minItems !== undefined && count < minItems)
      fail(result, invalid(path, count, `should have at least ${minItems} items`));
    if (maxItems !== undefined && count > maxItems)
      fail(result, (errors) => errors.tooMany(fieldOf(path), count, maxItems));
    if (uniqueItems === true && new Set(items.map(canonicalJson)).size < count)
      fail(result, invalid(path, '', `shouldn't contain duplicates`));
  }

  #fields(result: Result, value: JsonObject, node: SchemaNode, { path, before, isRoot }: At): void {
    const { minProperties, maxProperties, required = [] } = node.json;
    const keys = Object.keys(value);
    const old = before !== undefined && isRecord(before.value) ? before.value : undefined;
    if (minProperties !== undefined && keys.length < minProperties)
      fail(result, invalid(path, keys.length, `should have at least ${minProperties} properties`));
    if (maxProperties !== undefined && keys.length > maxProperties)
      fail(result, (errors) => errors.tooMany(fieldOf(path), keys.length, maxProperties));
    for (const key of keys) {
      const child = fieldNode(node, key);
      if (child === undefined) continue;
      const isTypeMeta = isRoot === true && (key === 'kind' || key === 'apiVersion');
      const was = old !== undefined && !isTypeMeta && Object.hasOwn(old, key) ? { value: old[key] } : undefined;
      merge(result, this.node(value[key], child, { path: path === '' ? key : `${path}.${key}`, before: was }));
      if (this.isExhausted) return;
    }
    for (const name of required)
      if (!Object.hasOwn(value, name)) fail(result, (errors) => errors.required(fieldOf(`${path}.${name}`)));
  }

  #alternatives(result: Result, value: unknown, node: SchemaNode, at: At): void {
    if (node.anyOf.length > 0) this.#anyOf(result, value, node.anyOf, at);
    if (node.oneOf.length > 0) this.#oneOf(result, value, node.oneOf, at);
    if (node.allOf.length > 0) this.#allOf(result, value, node.allOf, at);
    if (node.not !== undefined && this.#plain(value, node.not, at).findings.length === 0)
      fail(result, composite(at.path, 'must not validate the schema (not)'));
  }

  #anyOf(result: Result, value: unknown, nodes: readonly SchemaNode[], at: At): void {
    let best: Result | undefined;
    for (const node of nodes) {
      const tried = this.#plain(value, node, at);
      if (tried.findings.length === 0) return merge(result, tried);
      if (best === undefined || tried.matches > best.matches) best = tried;
    }
    fail(result, composite(at.path, 'must validate at least one schema (anyOf)'));
    if (best !== undefined) merge(result, best);
  }

  #oneOf(result: Result, value: unknown, nodes: readonly SchemaNode[], at: At): void {
    let best: Result | undefined;
    const good: Result[] = [];
    for (const node of nodes) {
      const tried = this.#plain(value, node, at);
      if (tried.findings.length === 0) good.push(tried);
      else if (best === undefined || tried.matches > best.matches) best = tried;
    }
    const [only] = good;
    if (only !== undefined && good.length === 1) return merge(result, only);
    const found = good.length === 0 ? 'Found none valid' : `Found ${good.length} valid alternatives`;
    fail(result, composite(at.path, `must validate one and only one schema (oneOf). ${found}`));
    if (good.length === 0 && best !== undefined) merge(result, best);
  }

  #allOf(result: Result, value: unknown, nodes: readonly SchemaNode[], at: At): void {
    let passed = 0;
    for (const node of nodes) {
      const tried = this.#plain(value, node, at);
      if (tried.findings.length === 0) passed++;
      merge(result, tried);
    }
    if (passed < nodes.length)
      fail(
        result,
        composite(at.path, `must validate all the schemas (allOf)${passed === 0 ? '. None validated' : ''}`),
      );
  }
}

const fail = (result: Result, finding: Finding): void => void result.findings.push(finding);

function merge(into: Result, { findings, matches }: Result): void {
  for (const finding of findings) into.findings.push(finding);
  into.matches += matches;
}

function typeError(path: string, expected: string, found: string): Finding {
  return (errors) =>
    errors.wrongType(fieldOf(path), found, `${path} in body must be of type ${expected}: ${goQuote(found)}`);
}

const composite =
  (path: string, detail: string): Finding =>
  (errors) =>
    errors.invalid('<nil>', '', `${goQuote(path)} ${detail}`);

/** The items of a map-type list are matched by their keys. */
function oldItems(node: SchemaNode, before: Before | undefined): ReadonlyMap<string, Before> | undefined {
  if (before === undefined || !Array.isArray(before.value)) return undefined;
  return new Map(before.value.map((item: unknown) => [itemKey(node, item), { value: item }]));
}

function itemKey({ listMapKeys }: SchemaNode, item: unknown): string {
  return canonicalJson(isRecord(item) ? listMapKeys.map((key) => [Object.hasOwn(item, key), item[key] ?? null]) : []);
}
