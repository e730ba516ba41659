// The rules of lint that are this project's own and need no types (.oxlintrc.json names them `local/...`). Each is a
// table of selectors of syntax, as ESLint has them, and what to say about a match. The rules that need types are
// outside-lookup.ts and mutable-members.ts.

interface Report {
  readonly node: unknown;
  readonly message: string;
}

interface Rule {
  readonly meta: { readonly type: 'problem'; readonly schema: readonly [] };
  create(context: { report(report: Report): void }): Readonly<Record<string, (node: SyntaxNode) => void>>;
}

/** A node of the syntax as ESLint shows it, with the members that the rules below read. */
interface SyntaxNode {
  readonly type: string;
  readonly id?: SyntaxNode;
  readonly name?: string;
  readonly init?: SyntaxNode | null;
  readonly regex?: unknown;
  readonly value?: unknown;
  readonly operator?: string;
  readonly expression?: SyntaxNode;
  readonly argument?: SyntaxNode;
  readonly left?: SyntaxNode;
  readonly right?: SyntaxNode;
  readonly expressions?: readonly SyntaxNode[];
}

function refuse(messages: Readonly<Record<string, string>>): Rule {
  return {
    meta: { type: 'problem', schema: [] },
    create: (context) =>
      Object.fromEntries(
        Object.entries(messages).map(([selector, message]) => [
          selector,
          (node: SyntaxNode) => context.report({ node, message }),
        ]),
      ),
  };
}

type Written = 'scalar' | 'table' | 'computed';

const isSum = (operator = ''): boolean => ['+', '-', '*', '/', '**', '<<'].includes(operator);
const part = (node: SyntaxNode | undefined): boolean => node?.type === 'Identifier' || written(node) === 'scalar';

/** What the value of a constant is: a number or text that is written down, a table or pattern, or something else. */
function written(node: SyntaxNode | null | undefined): Written {
  switch (node?.type) {
    case 'TSAsExpression':
    case 'TSSatisfiesExpression':
      return written(node.expression);
    case 'Literal':
      if (node.regex !== undefined) return 'table';
      return ['string', 'number', 'bigint'].includes(typeof node.value) ? 'scalar' : 'computed';
    case 'UnaryExpression':
      return node.operator === '-' ? written(node.argument) : 'computed';
    case 'BinaryExpression':
      return isSum(node.operator) && part(node.left) && part(node.right) ? 'scalar' : 'computed';
    case 'TemplateLiteral':
      return node.expressions?.every(part) === true ? 'scalar' : 'computed';
    case 'ObjectExpression':
    case 'ArrayExpression':
    case 'NewExpression':
      return 'table';
    default:
      return 'computed';
  }
}

const isUpperCase = (name: string): boolean => name === name.toUpperCase();

/** Checks the names of the constants of a module. */
const constantCase: Rule = {
  meta: { type: 'problem', schema: [] },
  create: (context) => {
    const check = (node: SyntaxNode): void => {
      const name = node.id?.name;
      if (name === undefined) return;
      const what = written(node.init);
      if (what === 'scalar' && !isUpperCase(name))
        context.report({ node: node.id, message: 'UPPER_CASE for a number or text that is set once.' });
      if (what === 'table' && isUpperCase(name))
        context.report({ node: node.id, message: 'camelCase for a table or a pattern.' });
    };
    return {
      'Program > VariableDeclaration[kind="const"] > VariableDeclarator': check,
      'Program > ExportNamedDeclaration > VariableDeclaration[kind="const"] > VariableDeclarator': check,
    };
  },
};

export const rules = {
  'plain-syntax': refuse({
    TSEnumDeclaration: 'Use a union of string literals.',
    ExportDefaultDeclaration: 'Named exports only.',
    'ImportDeclaration[importKind="value"] > ImportSpecifier[importKind="type"]':
      'Import types in a statement of their own: import type { A }.',
    'CatchClause > BlockStatement[body.length=0]':
      'Say in a comment-bearing statement why an error may be dropped, or handle it.',
  }),
  // Unit tests share one process: there, such a hook runs for the tests of all files.
  'hooks-in-suites': refuse({
    'Program > ExpressionStatement > CallExpression[callee.name=/^(before|after)Each$/]':
      'Put the hook into a suite: outside of one it runs for every unit test of all files.',
  }),
  // planDeployment, not deploymentPlan.
  'function-verbs': refuse({
    'ExportNamedDeclaration > FunctionDeclaration[id.name=/^(?!(ask|build|compute|create|decide|make|parse|plan|read|select|summarize|validate|write)[A-Z])[a-z]\\w*(Plan|Decision|Report|Steps)$/]':
      'Begin the name of a function with a verb: planDeployment, not deploymentPlan.',
  }),
  'constant-case': constantCase,
  'injected-time': refuse({
    "MemberExpression[object.name='Date'][property.name='now']": 'Inject Clock.',
    "NewExpression[callee.name='Date'][arguments.length=0]": 'Inject Clock.',
    "MemberExpression[object.name='Math'][property.name='random']": 'Inject Random.',
    "MemberExpression[object.name='crypto'][property.name='randomUUID']": 'Inject Random.',
  }),
};

/** What oxlint loads. */
const plugin = { meta: { name: 'local' }, rules };
export { plugin as default };
