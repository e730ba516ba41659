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
  /** The value has a different type than in the schema, so it is not checked further. */
  readonly isWrongType?: true;
}

/**
 * Limits for the number of errors of one object, for a shown value, and for all shown values together: each error may
 * contain its value, and a large object may have an error in each of its parts.
 */
export const MOST_ERRORS = 1000;
const LONGEST_VALUE = 10_000;
const MOST_CHARACTERS = 1_000_000;

/** Collects the errors of one object, in upstream's words and order. */
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

  /** Like `invalid`, without the value, which would not help or must not be shown. */
  invalidHidden(field: string, detail: string): void {
    this.#add('Invalid value', field, [detail]);
  }

  /** Like `invalid`, for a value of a different type than in the schema. */
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

  /** Like `duplicate`, without the value. */
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

  /** Checks that a value is one of a set; the error lists the set. */
  oneOf(field: string, value: string, supported: readonly string[]): void {
    if (!supported.includes(value)) this.notSupported(field, value, supported);
  }

  nonNegative(field: string, value: number | bigint | undefined): void {
    if (value !== undefined && value < 0) this.invalid(field, value, 'must be greater than or equal to 0');
  }

  get #isFull(): boolean {
    return this.list.length >= MOST_ERRORS || this.#characters > MOST_CHARACTERS;
  }

  /** A list with many errors is printed only once. */
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

/** Formats one error as the API server does. */
export function formatFieldError(error: FieldError): string {
  return `${error.field}: ${error.message}`;
}

/**
 * The whole message: `Pod "x" is invalid: a` for one error, `Pod "x" is invalid: [a, b]` for several. Equal errors are
 * listed once.
 */
export function formatInvalid(kind: string, name: string, errors: readonly FieldError[]): string {
  const texts = [...new Set(errors.map(formatFieldError))];
  const body = texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`;
  return `${kind} ${goQuote(name)} is invalid: ${body}`;
}

function cut(text: string): string {
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}...` : text;
}
