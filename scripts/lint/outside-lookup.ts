// A rule of lint: a table of this program that is indexed with a string must be one that inherits nothing.
import ts from 'typescript';
import type { Rule } from 'eslint';

interface TypedServices {
  readonly program: ts.Program;
  readonly esTreeNodeToTSNodeMap: { get(node: unknown): ts.Node };
}

/** Whether the type has strings among its values that are not written down in it. */
function isAnyString(type: ts.Type): boolean {
  return type.isUnion() ? type.types.some(isAnyString) : (type.flags & ts.TypeFlags.String) !== 0;
}

/** Whether the expression names a constant of some module that is written as an object literal. */
function isLiteralTable(checker: ts.TypeChecker, expression: ts.Node): boolean {
  const found = checker.getSymbolAtLocation(expression);
  const symbol =
    found !== undefined && (found.flags & ts.SymbolFlags.Alias) !== 0 ? checker.getAliasedSymbol(found) : found;
  const declaration = symbol?.valueDeclaration;
  if (
    declaration === undefined ||
    !ts.isVariableDeclaration(declaration) ||
    !ts.isSourceFile(declaration.parent.parent.parent)
  )
    return false;
  let { initializer } = declaration;
  while (
    initializer !== undefined &&
    (ts.isAsExpression(initializer) ||
      ts.isSatisfiesExpression(initializer) ||
      ts.isParenthesizedExpression(initializer))
  )
    initializer = initializer.expression;
  return initializer !== undefined && ts.isObjectLiteralExpression(initializer);
}

export const outsideLookup: Rule.RuleModule = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      inherits:
        'Wrap the table in lookupTable (src/base/lookup.ts): as it is, it answers `constructor` and `__proto__` with what every object inherits.',
    },
  },
  create: (context) => {
    // The parser of the configuration provides them.
    const services = context.sourceCode.parserServices as unknown as TypedServices;
    const checker = services.program.getTypeChecker();
    const check = (node: Rule.Node, table: unknown, key: unknown): void => {
      const [tableNode, keyNode] = [services.esTreeNodeToTSNodeMap.get(table), services.esTreeNodeToTSNodeMap.get(key)];
      if (
        ts.isIdentifier(tableNode) &&
        !ts.isStringLiteral(keyNode) &&
        isAnyString(checker.getTypeAtLocation(keyNode)) &&
        isLiteralTable(checker, tableNode)
      )
        context.report({ node, messageId: 'inherits' });
    };
    return {
      'MemberExpression[computed=true]': (node: Rule.Node) => {
        if (node.type === 'MemberExpression') check(node, node.object, node.property);
      },
      'BinaryExpression[operator="in"]': (node: Rule.Node) => {
        if (node.type === 'BinaryExpression') check(node, node.right, node.left);
      },
    };
  },
};
