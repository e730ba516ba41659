import { SyntaxFault } from './syntax-fault.ts';

export interface TextLiteral {
  readonly text: string;
  /** The value, for a bytes literal. */
  readonly bytes: Uint8Array | undefined;
  /** The position after the closing quote, in code units. */
  readonly end: number;
}

const simpleEscapes = new Map([
  ['a', 0x07],
  ['b', 0x08],
  ['f', 0x0c],
  ['n', 0x0a],
  ['r', 0x0d],
  ['t', 0x09],
  ['v', 0x0b],
  ['\\', 0x5c],
  ["'", 0x27],
  ['"', 0x22],
  ['`', 0x60],
  ['?', 0x3f],
]);
const digitsOf = new Map([
  ['x', 2],
  ['X', 2],
  ['u', 4],
  ['U', 8],
]);

/**
 * Reads the string or bytes literal that begins at `start` with `opening`: its prefix and its quotes. Throws
 * SyntaxFault.
 */
export function readLiteral(source: string, start: number, opening: string): TextLiteral {
  const prefix = /^[rRbB]*/.exec(opening)?.[0].toLowerCase() ?? '';
  const quote = opening.slice(prefix.length);
  const isRaw = prefix.includes('r');
  const isBytes = prefix.includes('b');
  const parts = isBytes ? new BytesParts() : new TextParts();
  let at = start + opening.length;
  while (!source.startsWith(quote, at)) {
    const unit = source[at];
    if (unit === undefined || (quote.length === 1 && (unit === '\n' || unit === '\r'))) throw unclosed(source, start);
    if (unit === '\\' && !isRaw) at = readEscape(source, at, parts, isBytes);
    else {
      const character = String.fromCodePoint(source.codePointAt(at) ?? 0);
      parts.character(character);
      at += character.length;
    }
  }
  return { ...parts.finish(), end: at + quote.length };
}

function unclosed(source: string, start: number): SyntaxFault {
  const shown = source.slice(start, start + 50).split('\n', 1)[0] ?? '';
  return new SyntaxFault(`Syntax error: token recognition error at: '${shown}'`, start);
}

/** Returns the position after the escape. */
function readEscape(source: string, at: number, parts: Parts, isBytes: boolean): number {
  const name = source[at + 1] ?? '';
  const simple = simpleEscapes.get(name);
  if (simple !== undefined) {
    parts.code(simple);
    return at + 2;
  }
  const isOctal = name >= '0' && name <= '3';
  const length = isOctal ? 3 : digitsOf.get(name);
  const from = isOctal ? at + 1 : at + 2;
  const digits = source.slice(from, from + (length ?? 0));
  const isWhole =
    length !== undefined && digits.length === length && (isOctal ? /^[0-7]+$/ : /^[0-9a-fA-F]+$/).test(digits);
  const code = isWhole ? Number.parseInt(digits, isOctal ? 8 : 16) : Number.NaN;
  const isUnicode = name === 'u' || name === 'U';
  if (!isWhole || (isUnicode && (isBytes || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))))
    throw new SyntaxFault(`Syntax error: token recognition error at: '${source.slice(at, at + 2)}'`, at);
  parts.code(code);
  return from + length;
}

interface Parts {
  character(text: string): void;
  /** The value of an escape: a code point of a string, or a byte of bytes. */
  code(code: number): void;
  finish(): { readonly text: string; readonly bytes: Uint8Array | undefined };
}

class TextParts implements Parts {
  readonly #parts: string[] = [];

  character(text: string): void {
    this.#parts.push(text);
  }

  code(code: number): void {
    this.#parts.push(String.fromCodePoint(code));
  }

  finish(): { text: string; bytes: undefined } {
    return { text: this.#parts.join(''), bytes: undefined };
  }
}

class BytesParts implements Parts {
  readonly #bytes: number[] = [];

  character(text: string): void {
    for (const byte of new TextEncoder().encode(text)) this.#bytes.push(byte);
  }

  code(code: number): void {
    this.#bytes.push(code);
  }

  finish(): { text: string; bytes: Uint8Array } {
    return { text: '', bytes: Uint8Array.from(this.#bytes) };
  }
}
