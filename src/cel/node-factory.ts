import type { Comprehension, Expr, FieldEntry, MapEntry } from './ast.ts';
import { ACCUMULATOR } from './ast.ts';
import { SyntaxFault } from './syntax-fault.ts';
import type { CelValue } from './values.ts';

/** How deep nodes may nest. Checker and planner recurse into each level. */
const HEIGHT_LIMIT = 600;

/** Creates the nodes of one expression. */
export class NodeFactory {
  /** By node id: the depth of the tree below it. */
  readonly #heights: number[] = [0];

  /** Throws SyntaxFault. */
  #place(offset: number, parts: readonly Expr[]): { id: number; offset: number } {
    const height = 1 + parts.reduce((most, { id }) => Math.max(most, this.#heights[id] ?? 0), 0);
    if (height > HEIGHT_LIMIT) throw new SyntaxFault(`expression recursion limit exceeded: ${HEIGHT_LIMIT}`, offset);
    return { id: this.#heights.push(height) - 1, offset };
  }

  literal(offset: number, value: CelValue): Expr {
    return { ...this.#place(offset, []), kind: 'literal', value };
  }

  ident(offset: number, name: string): Expr {
    return { ...this.#place(offset, []), kind: 'ident', name };
  }

  accumulator(offset: number): Expr {
    return this.ident(offset, ACCUMULATOR);
  }

  select(offset: number, operand: Expr, field: string, testOnly = false): Expr {
    return { ...this.#place(offset, [operand]), kind: 'select', operand, field, testOnly };
  }

  call(offset: number, name: string, ...args: Expr[]): Expr {
    return { ...this.#place(offset, args), kind: 'call', name, target: undefined, args };
  }

  method(offset: number, target: Expr, name: string, args: readonly Expr[]): Expr {
    return { ...this.#place(offset, [target, ...args]), kind: 'call', name, target, args };
  }

  list(offset: number, elements: readonly Expr[], optional: ReadonlySet<number> = new Set()): Expr {
    return { ...this.#place(offset, elements), kind: 'list', elements, optional };
  }

  map(offset: number, entries: readonly MapEntry[]): Expr {
    const parts = entries.flatMap(({ key, value }) => [key, value]);
    return { ...this.#place(offset, parts), kind: 'map', entries };
  }

  struct(offset: number, type: string, fields: readonly FieldEntry[]): Expr {
    const parts = fields.map(({ value }) => value);
    return { ...this.#place(offset, parts), kind: 'struct', type, fields };
  }

  comprehension(offset: number, parts: Omit<Comprehension, 'id' | 'offset' | 'kind'>): Expr {
    const { range, accuInit, condition, step, result } = parts;
    return { ...this.#place(offset, [range, accuInit, condition, step, result]), kind: 'comprehension', ...parts };
  }
}
