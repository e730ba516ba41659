import { goQuote } from '../../../api/go-quote.ts';

/** What only the text knows: keys that stand twice in an object, and where a text stops being JSON. */
export interface JsonScan {
  /** `duplicate field "spec.x"`, at most 100. */
  readonly duplicates: readonly string[];
  /** In the words of Go's parser; undefined when the text is JSON. */
  readonly error: string | undefined;
}

const mostDuplicates = 100;
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const literal = /true|false|null/y;
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;
const space = /[ \t\n\r]*/y;

type Frame =
  | { readonly kind: 'object'; readonly keys: Set<string>; key: string }
  | { readonly kind: 'array'; index: number };

/**
 * Reads a text without recursion, so that no nesting ends the stack. Takes several times as long as JSON.parse: for
 * texts that have something to tell.
 */
export function scanJson(source: string): JsonScan {
  return new Scanner(source).run();
}

class Scanner {
  readonly #source: string;
  readonly #duplicates: string[] = [];
  readonly #frames: Frame[] = [];
  #at = 0;

  constructor(source: string) {
    this.#source = source;
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
    return { duplicates: this.#duplicates, error };
  }

  #value(): { next: 'value' | 'after' } | string {
    const sign = this.#source[this.#at];
    if (sign === '{') return this.#open();
    if (sign === '[') {
      this.#at++;
      this.#match(space);
      if (this.#source[this.#at] === ']') return this.#close();
      this.#frames.push({ kind: 'array', index: 0 });
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
    const frame: Frame = { kind: 'object', keys: new Set(), key: '' };
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
    frame.key = key;
    if (frame.keys.has(key) && this.#duplicates.length < mostDuplicates)
      this.#duplicates.push(`duplicate field ${goQuote(this.#path())}`);
    frame.keys.add(key);
    this.#match(space);
    if (this.#source[this.#at] !== ':') return this.#unexpected('after object key');
    this.#at++;
    return { next: 'value' };
  }

  #after(): { next: 'value' | 'after' } | string {
    const frame = this.#frames.at(-1);
    const sign = this.#source[this.#at];
    if (frame === undefined) return this.#unexpected('after top-level value');
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
   * A string, sign by sign: a pattern would remember each step of a long one. When it is none, the place is where it
   * goes wrong.
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
