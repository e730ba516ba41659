import { SyntaxFault } from './syntax-fault.ts';
import { readLiteral } from './text-literal.ts';

export type TokenKind = 'ident' | 'quoted' | 'int' | 'uint' | 'double' | 'string' | 'bytes' | 'operator' | 'end';

export interface Token {
  readonly kind: TokenKind;
  /** The token as written; for strings, their value. */
  readonly text: string;
  readonly bytes?: Uint8Array;
  /** Position in code units of the source. */
  readonly start: number;
}

const space = /(?:[ \t\r\n\f]|\/\/[^\n]*)*/y;
const numberToken = /0[xX][0-9a-fA-F]+[uU]?|\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?|\d+[uU]?/y;
const identToken = /[_a-zA-Z][_a-zA-Z0-9]*/y;
const quotedIdent = /`[a-zA-Z0-9_.\-/ ]+`/y;
const literalStart = /(?:[rR][bB]?|[bB][rR]?)?(?:"""|'''|"|')/y;
const mayOpenText = /[rRbB"']/;
const operatorToken = /==|!=|<=|>=|&&|\|\||[[\]{}().,\-!?:+*/%<>]/y;

/** The tokens of an expression. Throws SyntaxFault. Cost is linear. */
export function readTokens(source: string): readonly Token[] {
  const tokens: Token[] = [];
  const match = (pattern: RegExp, position: number): string | undefined => {
    pattern.lastIndex = position;
    return pattern.exec(source)?.[0];
  };
  let position = 0;
  for (;;) {
    position += match(space, position)?.length ?? 0;
    if (position >= source.length) break;
    const start = position;
    const opening = mayOpenText.test(source[start] as string) ? match(literalStart, start) : undefined;
    if (opening !== undefined) {
      const { text, bytes, end } = readLiteral(source, start, opening);
      tokens.push({ kind: bytes === undefined ? 'string' : 'bytes', text, bytes, start });
      position = end;
      continue;
    }
    const [kind, text] = simpleToken(source[start] as string, (pattern) => match(pattern, start)) ?? [];
    if (kind === undefined || text === undefined) {
      const shown = String.fromCodePoint(source.codePointAt(start) ?? 0);
      throw new SyntaxFault(`Syntax error: token recognition error at: '${shown}'`, start);
    }
    tokens.push({ kind, text: kind === 'quoted' ? text.slice(1, -1) : text, start });
    position += text.length;
  }
  tokens.push({ kind: 'end', text: '<EOF>', start: source.length });
  return tokens;
}

function simpleToken(first: string, match: (pattern: RegExp) => string | undefined): [TokenKind, string] | undefined {
  if (/[0-9.]/.test(first)) {
    const number = match(numberToken);
    if (number !== undefined) return [numberKind(number), number];
  }
  const kind = /[A-Za-z_]/.test(first) ? 'ident' : first === '`' ? 'quoted' : 'operator';
  const text = match(kind === 'ident' ? identToken : kind === 'quoted' ? quotedIdent : operatorToken);
  return text === undefined ? undefined : [kind, text];
}

function numberKind(text: string): TokenKind {
  if (/[uU]$/.test(text)) return 'uint';
  if (/^0[xX]/.test(text)) return 'int';
  return /[.eE]/.test(text) ? 'double' : 'int';
}
