import type { CelValue } from './values.ts';

interface Node {
  /** Unique within an expression. The checker and the cost estimate store their results by this id. */
  readonly id: number;
  /** Where the node starts in the text, in code points. */
  readonly offset: number;
}

export interface Literal extends Node {
  readonly kind: 'literal';
  readonly value: CelValue;
}
export interface Ident extends Node {
  readonly kind: 'ident';
  readonly name: string;
}
export interface Select extends Node {
  readonly kind: 'select';
  readonly operand: Expr;
  readonly field: string;
  /** True for the macro `has`, which tests whether the field exists. */
  readonly testOnly: boolean;
}
export interface Call extends Node {
  readonly kind: 'call';
  readonly name: string;
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
}
export interface ListLiteral extends Node {
  readonly kind: 'list';
  readonly elements: readonly Expr[];
  /** Elements written as `?x`, which are left out if the optional is empty. */
  readonly optional: ReadonlySet<number>;
}
export interface MapEntry {
  readonly key: Expr;
  readonly value: Expr;
  readonly optional: boolean;
}
export interface MapLiteral extends Node {
  readonly kind: 'map';
  readonly entries: readonly MapEntry[];
}
export interface FieldEntry {
  readonly offset: number;
  readonly name: string;
  readonly value: Expr;
  readonly optional: boolean;
}
export interface StructLiteral extends Node {
  readonly kind: 'struct';
  readonly type: string;
  readonly fields: readonly FieldEntry[];
}
export interface Comprehension extends Node {
  readonly kind: 'comprehension';
  readonly iterVar: string;
  readonly iterVar2: string | undefined;
  readonly range: Expr;
  readonly accuVar: string;
  readonly accuInit: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

export type Expr = Literal | Ident | Select | Call | ListLiteral | MapLiteral | StructLiteral | Comprehension;

/** The accumulator variable of macros. It is not a valid identifier, so an expression cannot refer to it. */
export const ACCUMULATOR = '@result';

/** `a.b.c` as one name, for identifiers and selections of them; undefined for other nodes. */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name;
  if (expr.kind !== 'select' || expr.testOnly) return undefined;
  const operand = qualifiedName(expr.operand);
  return operand === undefined ? undefined : `${operand}.${expr.field}`;
}
