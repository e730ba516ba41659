import { goQuote } from './go-quote.ts';
import type { Schema } from './schema/schema.ts';

/** Facts that parsing loses: duplicate keys of objects, and the position of a syntax error. */
export interface JsonScan {
  /**
   * `duplicate field "spec.x"`, and with a schema `unknown field "spec.y"`, in the order of the text, each once, at most
   * 100 (upstream: sigs.k8s.io/json saveStrictError).
   */
  readonly problems: readonly string[];
  /**
   * The duplicates as the parser of YAML reports them, with the line of the second value: `line 3: key "x" already set
   * in map`. Those inside a value come before the value itself (upstream: yaml.v2 setMapIndex).
   */
  readonly lines: readonly string[];
  /** In the format of Go's parser; undefined when the text is valid JSON. */
  readonly error: string | undefined;
}

const MAX_FIELD_PROBLEMS = 100;
/** Keys may be as long as the text, and each path repeats its parents. */
const MAX_REPORTED_CHARS = 65_536;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const literal = /true|false|null/y;
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const space = /[ \t\n\r]*/y;

/** The schema of a value; `any` for values of any form; `unread` below unknown fields. */
type Known = Schema | 'any' | 'unread';

type Frame =
  | {
      readonly kind: 'object';
      readonly known: Known;
      readonly keys: Set<string>;
      key: string;
      child: Known;
      /** Where the value of a repeated key begins, until that value has been read. */
      repeatedAt: number | undefined;
    }
  | { readonly kind: 'array'; readonly child: Known; index: number };

/**
 * Scans a text without recursion, so that deep nesting cannot overflow the stack. It takes several times as long as
 * JSON.parse, so it is only used for texts with problems. Without a schema all keys are allowed. With one, a field that
 * is both unknown and repeated is reported as unknown only, and nothing below it is reported.
 */
export function scanJson(source: string, schema?: Schema): JsonScan {
  return new Scanner(source, schema ?? 'any').run();
}

function fieldOf(known: Known, key: string): Known | undefined {
  if (known === 'any' || known === 'unread') return known;
  if (known.kind === 'map') return known.values;
  if (isPlain(known)) return 'any';
  if (known.kind !== 'object') return 'unread';
  return Object.hasOwn(known.fields, key) ? known.fields[key]?.schema : undefined;
}

/** Whether the keys of an object are checked. */
const isRead = (known: Known): boolean =>
  known === 'any' || (known !== 'unread' && (known.kind === 'object' || known.kind === 'map' || isPlain(known)));
/** A recursive type has one schema for each of its JSON forms. */
const inForm = (known: Known, sample: unknown): Known =>
  known !== 'any' && known !== 'unread' && known.kind === 'opaque' && known.message !== undefined
    ? known.message.isQuiet === true
      ? 'unread'
      : known.message.formOf(sample)
    : known;
const isPlain = (schema: Schema): boolean => schema.kind === 'opaque' && schema.plain === true;

function itemOf(known: Known): Known {
  if (known === 'any' || known === 'unread') return known;
  if (isPlain(known)) return 'any';
  return known.kind === 'array' ? known.items : 'unread';
}

/** A duplicate key, and the position of its value. */
interface Repeat {
  readonly key: string;
  readonly at: number;
}

/** Computes the lines of positions in any order; the lines are counted once. */
function linesOf(source: string, repeats: readonly Repeat[]): readonly string[] {
  const lines = new Map<Repeat, number>();
  let line = 1;
  let newline = source.indexOf('\n');
  for (const repeat of repeats.toSorted((a, b) => a.at - b.at)) {
    for (; newline >= 0 && newline < repeat.at; newline = source.indexOf('\n', newline + 1)) line++;
    lines.set(repeat, line);
  }
  let chars = 0;
  return repeats
    .filter(({ key }) => (chars += key.length) <= MAX_REPORTED_CHARS)
    .map((repeat) => `line ${lines.get(repeat)}: key ${goQuote(repeat.key)} already set in map`);
}

class Scanner {
  readonly #source: string;
  readonly #root: Known;
  readonly #problems = new Set<string>();
  readonly #repeats: Repeat[] = [];
  readonly #frames: Frame[] = [];
  #at = 0;
  #reportedChars = 0;

  constructor(source: string, root: Known) {
    this.#source = source;
    this.#root = root;
  }

  run(): JsonScan {
    let expects: 'value' | 'after' = 'value';
    let error = '';
    while (error === '') {
      this.#match(space);
      if (expects === 'after' && this.#frames.length === 0) {
        return this.#at < this.#source.length
          ? this.#result(this.#unexpected('after top-level value'))
          : this.#result(undefined);
      }
      const step: { next: 'value' | 'after' } | string = expects === 'value' ? this.#value() : this.#after();
      if (typeof step === 'string') error = step;
      else expects = step.next;
    }
    return this.#result(error);
  }

  #result(error: string | undefined): JsonScan {
    return { problems: [...this.#problems], lines: linesOf(this.#source, this.#repeats), error };
  }

  #value(): { next: 'value' | 'after' } | string {
    const sign = this.#source[this.#at];
    if (sign === '{') return this.#open();
    if (sign === '[') {
      this.#at++;
      this.#match(space);
      if (this.#source[this.#at] === ']') return this.#close();
      this.#frames.push({ kind: 'array', child: itemOf(inForm(this.#known(), [])), index: 0 });
      return { next: 'value' };
    }
    if (sign === '"') return this.#text() ? { next: 'after' } : this.#unexpected('in string literal');
    const found = this.#match(sign === '-' || (sign !== undefined && sign >= '0' && sign <= '9') ? number : literal);
    return found ? { next: 'after' } : this.#unexpected('looking for beginning of value');
  }

  #open(): { next: 'value' | 'after' } | string {
    this.#at++;
    this.#match(space);
    if (this.#source[this.#at] === '}') return this.#close();
    const known = inForm(this.#known(), {});
    const frame: Frame = { kind: 'object', known, keys: new Set(), key: '', child: 'any', repeatedAt: undefined };
    this.#frames.push(frame);
    return this.#key(frame, 'looking for beginning of object key string');
  }

  #close(): { next: 'after' } {
    this.#at++;
    return { next: 'after' };
  }

  #key(frame: Frame & { kind: 'object' }, expected: string): { next: 'value' } | string {
    const from = this.#at;
    if (this.#source[from] !== '"') return this.#unexpected(expected);
    if (!this.#text()) return this.#unexpected('in string literal');
    const key = JSON.parse(this.#source.slice(from, this.#at)) as string;
    const repeated = frame.keys.has(key);
    this.#enter(frame, key, repeated);
    this.#match(space);
    if (this.#source[this.#at] !== ':') return this.#unexpected('after object key');
    this.#at++;
    this.#match(space);
    if (repeated) frame.repeatedAt = this.#at;
    return { next: 'value' };
  }

  #enter(frame: Frame & { kind: 'object' }, key: string, repeated: boolean): void {
    const child = fieldOf(frame.known, key);
    frame.key = key;
    frame.keys.add(key);
    frame.child = child ?? 'unread';
    if (child === undefined) this.#report('unknown field');
    else if (repeated && isRead(frame.known)) this.#report('duplicate field');
  }

  #report(problem: 'unknown field' | 'duplicate field'): void {
    if (this.#problems.size >= MAX_FIELD_PROBLEMS || this.#reportedChars > MAX_REPORTED_CHARS) return;
    const path = this.#path();
    this.#reportedChars += path.length;
    this.#problems.add(`${problem} ${goQuote(path)}`);
  }

  /** The schema of the value that starts here. */
  #known(): Known {
    return this.#frames.at(-1)?.child ?? this.#root;
  }

  #after(): { next: 'value' | 'after' } | string {
    const frame = this.#frames.at(-1);
    const sign = this.#source[this.#at];
    if (frame === undefined) return this.#unexpected('after top-level value');
    if (frame.kind === 'object' && frame.repeatedAt !== undefined) {
      if (this.#repeats.length < MAX_FIELD_PROBLEMS) this.#repeats.push({ key: frame.key, at: frame.repeatedAt });
      frame.repeatedAt = undefined;
    }
    const end = frame.kind === 'object' ? '}' : ']';
    if (sign === end) {
      this.#frames.pop();
      return this.#close();
    }
    if (sign !== ',')
      return this.#unexpected(frame.kind === 'object' ? 'after object key:value pair' : 'after array element');
    this.#at++;
    this.#match(space);
    if (frame.kind === 'object') return this.#key(frame, 'looking for beginning of object key string');
    frame.index++;
    return { next: 'value' };
  }

  /**
   * A string, character by character: a pattern would need memory for each step of a long one. For an invalid string
   * the position is that of the error.
   */
  #text(): boolean {
    const source = this.#source;
    let at = this.#at + 1;
    for (; at < source.length; at++) {
      const code = source.charCodeAt(at);
      if (code === 0x22) {
        this.#at = at + 1;
        return true;
      }
      if (code < 0x20) break;
      if (code !== 0x5c) continue;
      escape.lastIndex = at;
      if (!escape.test(source)) {
        at = Math.min(at + 1, source.length);
        break;
      }
      at = escape.lastIndex - 1;
    }
    this.#at = at;
    return false;
  }

  #match(pattern: RegExp): boolean {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#source)) return false;
    this.#at = pattern.lastIndex;
    return true;
  }

  #unexpected(where: string): string {
    const sign = this.#source[this.#at];
    return sign === undefined
      ? 'unexpected end of JSON input'
      : `invalid character ${sign === "'" ? "'\\''" : `'${goQuote(sign).slice(1, -1)}'`} ${where}`;
  }

  #path(): string {
    let path = '';
    for (const frame of this.#frames)
      path += frame.kind === 'array' ? `[${frame.index}]` : path === '' ? frame.key : `.${frame.key}`;
    return path;
  }
}
