import { goJson } from '../go-json.ts';
import { goQuote } from '../go-quote.ts';

/** The kinds of field errors; the texts are upstream's (apimachinery util/validation/field). */
export type FieldErrorType =
  | 'Required value'
  | 'Invalid value'
  | 'Unsupported value'
  | 'Duplicate value'
  | 'Not found'
  | 'Forbidden'
  | 'Too long'
  | 'Too many';

export interface FieldError {
  readonly type: FieldErrorType;
  /** The path in upstream's notation: `spec.containers[0].image`. */
  readonly field: string;
  /** Everything after the path: `Invalid value: "x": must be ...`. */
  readonly message: string;
  /** The value is of another type than its schema says, which makes further checks of it meaningless. */
  readonly isWrongType?: true;
}

/**
 * Limits of the number of problems reported for one object, of a shown value, and of all of them together: each may
 * name its value, and a large object has as many as it has parts.
 */
export const MOST_ERRORS = 1000;
const LONGEST_VALUE = 10_000;
const MOST_CHARACTERS = 1_000_000;

/** Gathers what is wrong with one object, in upstream's words and order. */
export class FieldErrors {
  readonly list: FieldError[] = [];
  readonly #shown = new WeakMap<object, string>();
  #characters = 0;

  required(field: string, detail = ''): void {
    this.#add('Required value', field, [detail]);
  }

  invalid(field: string, value: unknown, detail: string): void {
    this.#add('Invalid value', field, [this.#shownValue(value), detail]);
  }

  /** Without the value, which would say nothing. */
  invalidHidden(field: string, detail: string): void {
    this.#add('Invalid value', field, [detail]);
  }

  /** As `invalid`, for a value of another type than its schema says. */
  wrongType(field: string, value: unknown, detail: string): void {
    const { length } = this.list;
    this.invalid(field, value, detail);
    const added = this.list[length];
    if (added !== undefined) this.list[length] = { ...added, isWrongType: true };
  }

  /** One error for each of `details`. */
  invalidEach(field: string, value: unknown, details: readonly string[]): void {
    for (const detail of details) this.invalid(field, value, detail);
  }

  notSupported(field: string, value: unknown, supported: readonly string[]): void {
    this.#add('Unsupported value', field, [
      this.#shownValue(value),
      `supported values: ${supported.map(goQuote).join(', ')}`,
    ]);
  }

  duplicate(field: string, value: unknown): void {
    this.#add('Duplicate value', field, [this.#shownValue(value)]);
  }

  /** Without the value. */
  duplicateHidden(field: string): void {
    this.#add('Duplicate value', field, []);
  }

  notFound(field: string, value: unknown, detail = ''): void {
    this.#add('Not found', field, [this.#shownValue(value), detail]);
  }

  forbidden(field: string, detail: string): void {
    this.#add('Forbidden', field, [detail]);
  }

  tooLong(field: string, maxBytes: number): void {
    this.#add('Too long', field, [`may not be more than ${maxBytes} bytes`]);
  }

  tooMany(field: string, actual: number, max: number): void {
    this.#add('Too many', field, [String(actual), `must have at most ${max} items`]);
  }

  /** A value out of a closed set, or an error that lists the set. */
  oneOf(field: string, value: string, supported: readonly string[]): void {
    if (!supported.includes(value)) this.notSupported(field, value, supported);
  }

  nonNegative(field: string, value: number | bigint | undefined): void {
    if (value !== undefined && value < 0) this.invalid(field, value, 'must be greater than or equal to 0');
  }

  get #isFull(): boolean {
    return this.list.length >= MOST_ERRORS || this.#characters > MOST_CHARACTERS;
  }

  /** A list that is wrong in many places is written once. */
  #shownValue(value: unknown): string {
    if (this.#isFull) return '';
    if (typeof value === 'string') return goQuote(cut(value));
    if (typeof value === 'bigint') return String(value);
    if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
    let shown = this.#shown.get(value);
    if (shown === undefined) this.#shown.set(value, (shown = cut(goJson(value))));
    return shown;
  }

  #add(type: FieldErrorType, field: string, parts: readonly string[]): void {
    if (this.#isFull) return;
    const message = [type, ...parts.filter((part) => part !== '')].join(': ');
    this.#characters += field.length + message.length;
    this.list.push({ type, field, message });
  }
}

/** One error as the API server prints it. */
export function formatFieldError(error: FieldError): string {
  return `${error.field}: ${error.message}`;
}

/**
 * The whole refusal: `Pod "x" is invalid: a` for one error, `Pod "x" is invalid: [a, b]` for more. Repeated errors
 * count once.
 */
export function formatInvalid(kind: string, name: string, errors: readonly FieldError[]): string {
  const texts = [...new Set(errors.map(formatFieldError))];
  const body = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  return `${kind} ${goQuote(name)} is invalid: ${body}`;
}

function cut(text: string): string {
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}...` : text;
}
