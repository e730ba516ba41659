import { isRecord } from '../../base/json-record.ts';
import { goQuote } from '../../api/go-quote.ts';
import type { ArraySchema, ObjectSchema, Schema } from '../../api/schema/schema.ts';
import { formatGoValue, isJsonArray } from './json-value.ts';
import type { JsonObject } from './json-value.ts';
import { planField, valuesOf } from './object-plan.ts';
import { fieldElement, formatElement, isAssociative, itemElement, PathElementError } from './path-element.ts';

/**
 * Returns the errors of a configuration to apply, such as `.spec.replicas: expected numeric (int or float), got
 * string`. It is checked by the types of the API before anything is merged, and strictly, independent of the requested
 * field validation. Values are validated afterwards (upstream: structured-merge-diff typed).
 */
export function validateConfig(schema: Schema, value: unknown): readonly string[] {
  const errors: string[] = [];
  visit(schema, value, { errors });
  return errors;
}

/** A position in the configuration. Its path is formatted only for an error, because formatting is slow. */
interface Place {
  readonly parent?: Place;
  /** A path element; absent for the whole. */
  readonly element?: string;
  readonly errors: string[];
}

function visit(schema: Schema, value: unknown, at: Place): void {
  if (value === null || value === undefined) return;
  switch (schema.kind) {
    case 'object':
    case 'map':
      if (!isRecord(value)) fail(at, `expected map, got ${describe(value)}`);
      else if (schema.kind === 'object') visitStruct(schema, value, at);
      else visitEntries(schema, value, at);
      return;
    case 'array':
      if (!isJsonArray(value)) fail(at, `expected list, got ${describe(value)}`);
      else if (isAssociative(schema)) visitItems(schema, value, at);
      else for (const [index, item] of value.entries()) visit(schema.items, item, inside(at, `i:${index}`));
      return;
    case 'opaque':
      return;
    default:
      visitScalar(schema, value, at);
  }
}

function visitScalar(schema: Schema, value: unknown, at: Place): void {
  if (schema.kind === 'number') {
    if (typeof value !== 'number' && typeof value !== 'bigint')
      fail(at, `expected numeric (int or float), got ${goType(value)}`);
  } else if (schema.kind === 'boolean') {
    if (typeof value !== 'boolean') fail(at, `expected boolean, got ${describe(value)}`);
  } else if (schema.kind === 'string' && (schema.format === undefined || schema.format === 'bytes')) {
    if (typeof value !== 'string')
      fail(at, `expected string, got &value.valueUnstructured{Value:${formatGoSyntax(value)}}`);
  } else if (typeof value === 'object') fail(at, `expected any scalar, got ${describe(value)}`);
}

function visitStruct(schema: ObjectSchema, value: JsonObject, at: Place): void {
  for (const key of Object.keys(value)) {
    const field = planField(schema, key);
    if (field !== undefined) visit(field.schema, value[key], inside(at, field.element));
    else if (!Object.hasOwn(schema.fields, key)) {
      fail(inside(at, fieldElement(key)), 'field not declared in schema');
      return;
    }
  }
}

function visitEntries(schema: Schema, value: JsonObject, at: Place): void {
  for (const key of Object.keys(value)) visit(valuesOf(schema), value[key], inside(at, fieldElement(key)));
}

function visitItems(schema: ArraySchema, items: readonly unknown[], at: Place): void {
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    let element: string;
    try {
      element = itemElement(schema, item);
    } catch (error) {
      if (!(error instanceof PathElementError)) throw error;
      fail(at, `element ${index}: ${error.message}`);
      return;
    }
    if (seen.has(element)) fail(at, `duplicate entries for key ${formatElement(element)}`);
    seen.add(element);
    visit(schema.items, item, inside(at, element));
  }
}

const inside = (parent: Place, element: string): Place => ({ parent, element, errors: parent.errors });

function fail(at: Place, message: string): void {
  let path = '';
  for (let place: Place | undefined = at; place?.element !== undefined; place = place.parent)
    path = `${formatElement(place.element)}${path}`;
  at.errors.push(path === '' ? message : `${path}: ${message}`);
}

/** Formats one error on its line, and several errors as a list. */
export function formatConfigErrors(errors: readonly string[]): string {
  return errors.length === 1 ? (errors[0] ?? '') : ['errors:', ...errors.map((error) => `  ${error}`)].join('\n');
}

const describe = (value: unknown): string => (typeof value === 'string' ? goQuote(value) : formatGoValue(value));

/** Formats a value as Go's `%#v`. */
function formatGoSyntax(value: unknown): string {
  if (typeof value === 'string') return goQuote(value);
  if (value === null) return 'interface {}(nil)';
  if (Array.isArray(value)) return `[]interface {}{${value.map(formatGoSyntax).join(', ')}}`;
  if (!isRecord(value)) return String(value);
  return `map[string]interface {}{${Object.keys(value)
    .sort()
    .map((key) => `${goQuote(key)}:${formatGoSyntax(value[key])}`)
    .join(', ')}}`;
}

function goType(value: unknown): string {
  if (Array.isArray(value)) return '[]interface {}';
  return typeof value === 'boolean' ? 'bool' : typeof value === 'object' ? 'map[string]interface {}' : typeof value;
}
