// The rules of lint that are this project's own and need no types (.oxlintrc.json names them `local/...`). Each is a
// table of selectors of syntax, as ESLint has them, and what to say about a match. The rules that need types are
// outside-lookup.ts and mutable-members.ts.

interface Report {
  readonly node: unknown;
  readonly message: string;
}

interface Rule {
  readonly meta: { readonly type: 'problem'; readonly schema: readonly [] };
  create(context: { report(report: Report): void }): Readonly<Record<string, (node: unknown) => void>>;
}

function refuse(messages: Readonly<Record<string, string>>): Rule {
  return {
    meta: { type: 'problem', schema: [] },
    create: (context) =>
      Object.fromEntries(
        Object.entries(messages).map(([selector, message]) => [
          selector,
          (node: unknown) => context.report({ node, message }),
        ]),
      ),
  };
}

export const rules = {
  'plain-syntax': refuse({
    TSEnumDeclaration: 'Use a union of string literals.',
    ExportDefaultDeclaration: 'Named exports only.',
    'CatchClause > BlockStatement[body.length=0]':
      'Say in a comment-bearing statement why an error may be dropped, or handle it.',
  }),
  // Unit tests share one process: there, such a hook runs for the tests of all files.
  'hooks-in-suites': refuse({
    'Program > ExpressionStatement > CallExpression[callee.name=/^(before|after)Each$/]':
      'Put the hook into a suite: outside of one it runs for every unit test of all files.',
  }),
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
