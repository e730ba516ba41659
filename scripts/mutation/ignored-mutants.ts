// Says which places of the code are not mutated, because no unit test should pin them down.

/** What is read of a place in the syntax tree (Babel: NodePath). */
export interface SyntaxPath {
  readonly node: SyntaxNode;
  readonly parent?: SyntaxNode;
}
interface SyntaxNode {
  readonly type: string;
  readonly callee?: SyntaxNode;
  readonly object?: SyntaxNode;
  readonly property?: SyntaxNode;
  readonly id?: SyntaxNode;
  readonly name?: string;
  readonly operator?: string;
  readonly elements?: readonly unknown[];
  readonly test?: SyntaxNode | null;
  readonly consequent?: SyntaxNode | readonly SyntaxNode[];
  readonly argument?: SyntaxNode | null;
}

const levels = new Set(['debug', 'info', 'warn', 'error']);

/** Why this place is left alone; undefined when it is mutated. */
export function reasonToIgnore({ node, parent }: SyntaxPath): string | undefined {
  if (isLogCall(node)) return 'words and fields of log lines are no rule';
  if (isUnreachableCase(node)) return 'the compiler proves that this case does not occur';
  if (node.type === 'ArrayExpression' && node.elements?.length === 0 && parent?.operator === '??')
    return 'the compiler refuses a text in the place of an absent list of objects';
  return undefined;
}

/** A call like `log.info(...)`, `this.#deps.log?.warn(...)` or `logger.debug(...)`. */
function isLogCall({ callee }: SyntaxNode): boolean {
  if (callee?.type !== 'MemberExpression' && callee?.type !== 'OptionalMemberExpression') return false;
  return levels.has(nameOf(callee.property)) && ['log', 'logger'].includes(nameOf(callee.object));
}

/** `default: return unreachable(kind);` */
function isUnreachableCase({ type, test, consequent }: SyntaxNode): boolean {
  if (type !== 'SwitchCase' || test !== null || !Array.isArray(consequent)) return false;
  const [only] = consequent as readonly SyntaxNode[];
  return nameOf(only?.argument?.callee) === 'unreachable';
}

/** `log` for the identifier, for `x.log` and for `this.#log`. */
function nameOf(node: SyntaxNode | undefined): string {
  if (node === undefined) return '';
  return node.name ?? nameOf(node.property ?? node.id);
}
