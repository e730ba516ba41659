import { Composer, Lexer, Parser } from 'yaml';
import type { CST, Document } from 'yaml';

export interface YamlSyntaxError {
  readonly message: string;
  readonly offset: number;
}
export interface ParsedYaml {
  readonly document: Document | undefined;
  readonly errors: readonly YamlSyntaxError[];
}

class TooMuch extends Error {}

/**
 * Prefixes of parser messages that quote the text after them. The quote is removed, because the text may be a Secret
 * and errors are logged. Line and column identify the position.
 */
const quoting =
  /^(Not a YAML token|Block scalar header includes extra characters|Unresolved tag|Unresolved alias[^:]*|Could not resolve tag|Not a valid tag|Verbatim tags aren't resolved|Unexpected .*? token in YAML (?:stream|document)|Invalid escape sequence|Unknown directive|Unsupported YAML version|The(?= .* tag has no suffix))[^]*$/;

function withoutQuotes(message: string): string {
  return message.replace(quoting, (_all, said: string) => (said === 'The' ? 'A tag has no suffix' : said));
}

/**
 * Parses one document to its tree. Scalars are not interpreted (yaml-scalar.ts does that). Parsing time grows with the
 * number of tokens and not with the bytes, so the tokens are limited: 100,000 take about a fifth of a second.
 */
export function parseYaml(text: string, maxLexemes: number): ParsedYaml {
  const composer = new Composer({ schema: 'failsafe', uniqueKeys: false, prettyErrors: false, logLevel: 'silent' });
  try {
    let document: Document | undefined;
    for (const composed of composer.compose(tokens(text, maxLexemes), true, text.length)) document ??= composed;
    const errors =
      document?.errors.map((error) => ({ message: withoutQuotes(error.message), offset: error.pos[0] })) ?? [];
    // A stack overflow inside the parser is reported by it as an ordinary error.
    const tooDeep = errors.find((error) => error.message.includes('call stack'));
    return {
      document,
      errors: tooDeep === undefined ? errors : [{ message: 'nested too deeply', offset: tooDeep.offset }],
    };
  } catch (error) {
    if (error instanceof TooMuch) return { document: undefined, errors: [{ message: error.message, offset: 0 }] };
    if (error instanceof RangeError)
      return { document: undefined, errors: [{ message: 'nested too deeply', offset: 0 }] };
    return {
      document: undefined,
      errors: [{ message: error instanceof Error ? error.message : String(error), offset: 0 }],
    };
  }
}

function* tokens(text: string, maxLexemes: number): Generator<CST.Token> {
  const lexer = new Lexer();
  const parser = new Parser();
  let count = 0;
  for (const lexeme of lexer.lex(text)) {
    if (++count > maxLexemes) throw new TooMuch(`more than ${maxLexemes} words and signs in one document`);
    yield* parser.next(lexeme);
  }
  yield* parser.end();
}
