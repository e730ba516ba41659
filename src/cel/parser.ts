import type { Expr, FieldEntry, MapEntry } from './ast.ts';
import { qualifiedName } from './ast.ts';
import type { Token } from './lexer.ts';
import { readTokens } from './lexer.ts';
import type { MacroTable } from './macros.ts';
import { MacroFault, macroKey } from './macros.ts';
import { NodeFactory } from './node-factory.ts';
import { SyntaxFault } from './syntax-fault.ts';
import { Uint } from './values.ts';

/** The largest nesting depth of an expression (upstream: parser/options.go maxRecursionDepth). */
const DEPTH_LIMIT = 250;

const reserved: ReadonlySet<string> = new Set(
  'as break const continue else false for function if import in let loop package namespace null return true var void while'.split(
    ' ',
  ),
);
const relations: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>=', 'in']);
const binaryLevels: readonly ReadonlySet<string>[] = [relations, new Set(['+', '-']), new Set(['*', '/', '%'])];
const OPERANDS = `{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}`;

/** Reads an expression and expands its macros. Throws SyntaxFault. */
export function parseExpression(source: string, macros: MacroTable): Expr {
  return new Parser(source, macros).parse();
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #macros: MacroTable;
  readonly #nodes = new NodeFactory();
  #next = 0;
  #depth = 0;

  constructor(source: string, macros: MacroTable) {
    this.#tokens = readTokens(source);
    this.#macros = macros;
  }

  parse(): Expr {
    const expr = this.#expression();
    if (this.#peek.kind !== 'end') throw this.#unexpected(`<EOF>`, 'mismatched');
    return expr;
  }

  get #peek(): Token {
    return this.#tokens[this.#next] as Token;
  }

  #isOperator(text: string): boolean {
    const { kind, text: found } = this.#peek;
    return kind === 'operator' && found === text;
  }

  #take(): Token {
    const token = this.#peek;
    if (token.kind !== 'end') this.#next += 1;
    return token;
  }

  #accept(operator: string): Token | undefined {
    return this.#isOperator(operator) ? this.#take() : undefined;
  }

  #expect(operator: string): Token {
    return this.#accept(operator) ?? this.#fail(`'${operator}'`);
  }

  #fail(expected: string): never {
    throw this.#unexpected(expected, 'mismatched');
  }

  #unexpected(expected: string, kind: 'mismatched' | 'extraneous'): SyntaxFault {
    const { text, start } = this.#peek;
    return new SyntaxFault(`Syntax error: ${kind} input '${text}' expecting ${expected}`, start);
  }

  #nested<Result>(start: number, parse: () => Result): Result {
    this.#depth += 1;
    if (this.#depth > DEPTH_LIMIT) throw new SyntaxFault(`expression recursion limit exceeded: ${DEPTH_LIMIT}`, start);
    const result = parse();
    this.#depth -= 1;
    return result;
  }

  #expression(): Expr {
    return this.#nested(this.#peek.start, () => {
      const condition = this.#logical('||');
      const operator = this.#accept('?');
      if (operator === undefined) return condition;
      const whenTrue = this.#logical('||');
      this.#expect(':');
      return this.#nodes.call(operator.start, '_?_:_', condition, whenTrue, this.#expression());
    });
  }

  /** Terms of `&&` and `||` form a balanced tree, so that many terms do not nest deeply. */
  #logical(operator: '||' | '&&'): Expr {
    const parseTerm = operator === '||' ? () => this.#logical('&&') : () => this.#binary(0);
    const terms = [parseTerm()];
    const starts: number[] = [];
    for (let token = this.#accept(operator); token !== undefined; token = this.#accept(operator)) {
      starts.push(token.start);
      terms.push(parseTerm());
    }
    const balanced = (low: number, high: number): Expr => {
      if (low === high) return terms[low] as Expr;
      const middle = Math.floor((low + high + 1) / 2) - 1;
      const [left, right] = [balanced(low, middle), balanced(middle + 1, high)];
      return this.#nodes.call(starts[middle] as number, `_${operator}_`, left, right);
    };
    return balanced(0, terms.length - 1);
  }

  #binary(level: number): Expr {
    const operators = binaryLevels[level];
    if (operators === undefined) return this.#unary();
    let left = this.#binary(level + 1);
    let count = 0;
    while (operators.has(this.#peek.text) && (this.#peek.kind === 'operator' || this.#peek.kind === 'ident')) {
      const operator = this.#take();
      count += 1;
      if (count + this.#depth > DEPTH_LIMIT)
        throw new SyntaxFault(`expression recursion limit exceeded: ${DEPTH_LIMIT}`, operator.start);
      const name = operator.text === 'in' ? '@in' : `_${operator.text}_`;
      left = this.#nodes.call(operator.start, name, left, this.#binary(level + 1));
    }
    return left;
  }

  #unary(): Expr {
    const token = this.#peek;
    const sign = this.#isOperator('!') ? '!' : this.#isOperator('-') ? '-' : undefined;
    if (sign === undefined) return this.#member(this.#primary());
    let count = 0;
    while (this.#accept(sign) !== undefined) count += 1;
    const next = this.#peek;
    if (sign === '-' && count % 2 === 1 && count === 1 && (next.kind === 'int' || next.kind === 'double')) {
      this.#take();
      return this.#member(this.#number(next, '-', token.start));
    }
    const operand = this.#nested(token.start, () =>
      this.#isOperator('!') || this.#isOperator('-') ? this.#unary() : this.#member(this.#primary()),
    );
    if (count % 2 === 0) return operand;
    return this.#nodes.call(token.start, sign === '!' ? '!_' : '-_', operand);
  }

  #member(primary: Expr): Expr {
    let operand = primary;
    let links = 0;
    for (;;) {
      const token = this.#peek;
      if (this.#accept('.') !== undefined) operand = this.#selection(operand, token.start);
      else if (this.#accept('[') !== undefined) operand = this.#index(operand, token.start);
      else return operand;
      links += 1;
      if (links + this.#depth > DEPTH_LIMIT)
        throw new SyntaxFault(`expression recursion limit exceeded: ${DEPTH_LIMIT}`, token.start);
    }
  }

  #selection(operand: Expr, start: number): Expr {
    const isOptional = this.#accept('?') !== undefined;
    const name = this.#take();
    if (name.kind !== 'ident' && name.kind !== 'quoted') throw noField(name);
    if (isOptional) return this.#nodes.call(start, '_?._', operand, this.#nodes.literal(name.start, name.text));
    if (name.kind === 'ident') {
      const paren = this.#accept('(');
      if (paren !== undefined) return this.#call(paren.start, name.text, operand, this.#arguments(')'));
    }
    if (
      name.kind === 'ident' &&
      (name.text === 'in' || name.text === 'true' || name.text === 'false' || name.text === 'null')
    )
      throw noField(name);
    return this.#nodes.select(start, operand, name.text);
  }

  #index(operand: Expr, start: number): Expr {
    const isOptional = this.#accept('?') !== undefined;
    const key = this.#expression();
    this.#expect(']');
    return this.#nodes.call(start, isOptional ? '_[?_]' : '_[_]', operand, key);
  }

  #arguments(closing: string): Expr[] {
    const args: Expr[] = [];
    if (this.#accept(closing) !== undefined) return args;
    do args.push(this.#expression());
    while (this.#accept(',') !== undefined);
    this.#expect(closing);
    return args;
  }

  #call(start: number, name: string, target: Expr | undefined, args: readonly Expr[]): Expr {
    const macro = this.#macros.get(macroKey(name, args.length, target !== undefined));
    const operand = target ?? args[0];
    if (macro !== undefined && operand !== undefined) {
      const expanded = this.#expand(() => macro({ nodes: this.#nodes, offset: start, target: operand, args }));
      if (expanded !== undefined) return expanded;
    }
    return target === undefined
      ? this.#nodes.call(start, name, ...args)
      : this.#nodes.method(start, target, name, args);
  }

  #expand(macro: () => Expr | undefined): Expr | undefined {
    try {
      return macro();
    } catch (error) {
      if (error instanceof MacroFault) throw new SyntaxFault(error.message, error.at.offset);
      throw error;
    }
  }

  #primary(): Expr {
    const token = this.#take();
    switch (token.kind) {
      case 'ident':
        return this.#named(token, '');
      case 'int':
      case 'uint':
      case 'double':
        return this.#number(token, '', token.start);
      case 'string':
        return this.#nodes.literal(token.start, token.text);
      case 'bytes':
        return this.#nodes.literal(token.start, token.bytes as Uint8Array);
      case 'operator':
        return this.#grouped(token);
      case 'quoted':
      case 'end':
        this.#next -= token.kind === 'quoted' ? 1 : 0;
        return this.#fail(OPERANDS);
    }
  }

  #grouped(token: Token): Expr {
    switch (token.text) {
      case '(': {
        const inner = this.#expression();
        this.#expect(')');
        return inner;
      }
      case '[':
        return this.#list(token.start);
      case '{':
        return this.#map(token.start);
      case '.': {
        const name = this.#take();
        if (name.kind === 'ident') return this.#named(name, '.');
        this.#next -= name.kind === 'end' ? 0 : 1;
        return this.#fail('IDENTIFIER');
      }
      default:
        this.#next -= 1;
        return this.#unexpectedOperand();
    }
  }

  #unexpectedOperand(): never {
    throw this.#unexpected(OPERANDS, this.#peek.kind === 'end' ? 'mismatched' : 'extraneous');
  }

  #named(token: Token, dot: string): Expr {
    const { text, start } = token;
    if (dot === '' && (text === 'true' || text === 'false')) return this.#nodes.literal(start, text === 'true');
    if (dot === '' && text === 'null') return this.#nodes.literal(start, null);
    const struct = this.#structName(token, dot);
    if (struct !== undefined) return this.#struct(struct, start);
    if (text === 'in') {
      this.#next -= 1;
      return this.#unexpectedOperand();
    }
    if (reserved.has(text)) throw new SyntaxFault(`reserved identifier: ${text}`, start);
    const paren = this.#accept('(');
    if (paren !== undefined) return this.#call(paren.start, dot + text, undefined, this.#arguments(')'));
    return this.#nodes.ident(start, dot + text);
  }

  /** Reads `a.b.C` before a brace; reads nothing if no brace follows. */
  #structName(first: Token, dot: string): string | undefined {
    let ahead = this.#next;
    let name = dot + first.text;
    for (;;) {
      const token = this.#tokens[ahead] as Token;
      if (token.kind !== 'operator') return undefined;
      if (token.text === '{') {
        this.#next = ahead;
        return name;
      }
      const part = this.#tokens[ahead + 1];
      if (token.text !== '.' || part?.kind !== 'ident') return undefined;
      name += `.${part.text}`;
      ahead += 2;
    }
  }

  #struct(type: string, start: number): Expr {
    this.#expect('{');
    const fields: FieldEntry[] = [];
    while (!this.#isOperator('}')) {
      const optional = this.#accept('?') !== undefined;
      const name = this.#take();
      if (name.kind !== 'ident' && name.kind !== 'quoted') {
        this.#next -= name.kind === 'end' ? 0 : 1;
        this.#fail(`{'}', ',', IDENTIFIER}`);
      }
      const colon = this.#expect(':');
      fields.push({ offset: colon.start, name: name.text, value: this.#expression(), optional });
      if (this.#accept(',') === undefined) break;
    }
    this.#expect('}');
    return this.#nodes.struct(start, type, fields);
  }

  #list(start: number): Expr {
    const elements: Expr[] = [];
    const optional = new Set<number>();
    while (!this.#isOperator(']')) {
      if (this.#accept('?') !== undefined) optional.add(elements.length);
      elements.push(this.#expression());
      if (this.#accept(',') === undefined) break;
    }
    this.#expect(']');
    return this.#nodes.list(start, elements, optional);
  }

  #map(start: number): Expr {
    const entries: MapEntry[] = [];
    while (!this.#isOperator('}')) {
      const optional = this.#accept('?') !== undefined;
      const key = this.#expression();
      this.#expect(':');
      entries.push({ key, value: this.#expression(), optional });
      if (this.#accept(',') === undefined) break;
    }
    this.#expect('}');
    return this.#nodes.map(start, entries);
  }

  #number(token: Token, sign: '' | '-', start: number): Expr {
    const { kind, text } = token;
    if (kind === 'double') {
      const value = Number(sign + text);
      if (!Number.isFinite(value)) throw new SyntaxFault('invalid double literal', start);
      return this.#nodes.literal(start, value);
    }
    const digits = BigInt(kind === 'uint' ? text.slice(0, -1) : text);
    const value = sign === '-' ? -digits : digits;
    if (kind === 'uint') {
      if (value !== BigInt.asUintN(64, value)) throw new SyntaxFault('invalid uint literal', start);
      return this.#nodes.literal(start, new Uint(value));
    }
    if (value !== BigInt.asIntN(64, value)) throw new SyntaxFault('invalid int literal', start);
    return this.#nodes.literal(start, value);
  }
}

/**
 * Calls back for every identifier and every selection of identifiers, to find the variables that an expression uses.
 */
export function usesVariable(expr: Expr, name: string): boolean {
  const uses = (part: Expr | undefined): boolean => part !== undefined && usesVariable(part, name);
  switch (expr.kind) {
    case 'literal':
      return false;
    case 'ident':
      return expr.name === name || expr.name === `.${name}`;
    case 'select':
      return qualifiedName(expr) === name || uses(expr.operand);
    case 'call':
      return uses(expr.target) || expr.args.some(uses);
    case 'list':
      return expr.elements.some(uses);
    case 'map':
      return expr.entries.some(({ key, value }) => uses(key) || uses(value));
    case 'struct':
      return expr.fields.some(({ value }) => uses(value));
    case 'comprehension':
      return [expr.range, expr.accuInit, expr.condition, expr.step, expr.result].some(uses);
  }
}

/** What follows a dot is no name. */
const noField = ({ kind, text, start }: Token): SyntaxFault =>
  new SyntaxFault(`Syntax error: no viable alternative at input '.${kind === 'end' ? '' : text}'`, start);
