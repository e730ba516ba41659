// A rule of lint: a table of this program that is indexed with a string must be one that inherits nothing. Run as a
// program, it checks the product's sources.
import path from 'node:path';
import type { Expression, Identifier, Node } from 'typescript/unstable/ast';
import { SyntaxKind } from 'typescript/unstable/ast';
import {
  isAsExpression,
  isBinaryExpression,
  isElementAccessExpression,
  isIdentifier,
  isObjectLiteralExpression,
  isParenthesizedExpression,
  isSatisfiesExpression,
  isSourceFile,
  isStringLiteral,
  isVariableDeclaration,
} from 'typescript/unstable/ast/is';
import type { FileSystem } from 'typescript/unstable/fs';
import type { Checker, Project, Type } from 'typescript/unstable/sync';
import { API, SymbolFlags, TypeFlags } from 'typescript/unstable/sync';

const MESSAGE =
  'Wrap the table in lookupTable (src/base/lookup.ts): as it is, it answers `constructor` and `__proto__` with what every object inherits.';

export interface Finding {
  readonly file: string;
  /** Counts from 1. */
  readonly line: number;
}

interface Lookup {
  readonly table: Identifier;
  readonly key: Expression;
}

/** Lookups, as `table[key]` and `key in table`, whose key is not written down. */
function lookupsIn(node: Node, found: Lookup[]): void {
  const lookup = isElementAccessExpression(node)
    ? { table: node.expression, key: node.argumentExpression }
    : isBinaryExpression(node) && node.operatorToken.kind === SyntaxKind.InKeyword
      ? { table: node.right, key: node.left }
      : undefined;
  if (lookup !== undefined && isIdentifier(lookup.table) && !isStringLiteral(lookup.key))
    found.push({ table: lookup.table, key: lookup.key });
  node.forEachChild((child) => lookupsIn(child, found));
}

/** Whether the type has strings among its values that are not written down in it. */
function isAnyString(type: Type | undefined): boolean {
  if (type === undefined) return false;
  return type.isUnionType() ? type.getTypes().some(isAnyString) : (type.flags & TypeFlags.String) !== 0;
}

/** Whether the name is that of a constant of some module that is written as an object literal. */
function isLiteralTable(project: Project, name: Identifier): boolean {
  const found = project.checker.getSymbolAtLocation(name);
  const symbol = found === undefined ? undefined : withoutAlias(project.checker, found);
  const declaration = symbol?.valueDeclaration?.resolve(project);
  if (
    declaration === undefined ||
    !isVariableDeclaration(declaration) ||
    !isSourceFile(declaration.parent.parent.parent)
  )
    return false;
  let initializer: Node | undefined = declaration.initializer;
  while (
    initializer !== undefined &&
    (isAsExpression(initializer) || isSatisfiesExpression(initializer) || isParenthesizedExpression(initializer))
  )
    initializer = initializer.expression;
  return initializer !== undefined && isObjectLiteralExpression(initializer);
}

type FoundSymbol = NonNullable<ReturnType<Checker['getAliasedSymbol']>>;
const withoutAlias = (checker: Checker, symbol: FoundSymbol): FoundSymbol =>
  (symbol.flags & SymbolFlags.Alias) === 0 ? symbol : checker.getAliasedSymbol(symbol);

/** What the rule finds in the files of a TypeScript project that `isChecked` names by their absolute paths. */
export function findOutsideLookups(
  configFile: string,
  isChecked: (file: string) => boolean,
  fs?: FileSystem,
): readonly Finding[] {
  const api = new API({ cwd: path.dirname(configFile), fs });
  try {
    const project = api.updateSnapshot({ openProjects: [configFile] }).getProject(configFile);
    if (project === undefined) throw new Error(`${configFile} names no project`);
    return project.program
      .getSourceFileNames()
      .filter(isChecked)
      .flatMap((file) => findingsIn(project, file));
  } finally {
    api.close();
  }
}

function findingsIn(project: Project, file: string): readonly Finding[] {
  const source = project.program.getSourceFile(file);
  const lookups: Lookup[] = [];
  if (source !== undefined) lookupsIn(source, lookups);
  return lookups
    .filter(({ table, key }) => isLiteralTable(project, table) && isAnyString(project.checker.getTypeAtLocation(key)))
    .map(({ key }) => ({ file, line: (source?.text.slice(0, key.getStart()).match(/\n/g)?.length ?? 0) + 1 }));
}

/** Their tables are given names that their own code has made. */
const exempt: ReadonlySet<string> = new Set([
  'src/pki/request-reader.ts',
  'src/control-plane/pki/request-policy.ts',
  'src/control-plane/authz/rbac/policy-rules.ts',
  'src/kubelet/adapters/net/net-dial-errors.ts',
  'src/kubelet/adapters/tls/tls-settings.ts',
]);

function main(): void {
  const root = path.join(import.meta.dirname, '..', '..');
  const isChecked = (file: string): boolean => {
    const name = path.relative(root, file);
    return name.startsWith('src/') && !/\.test\.ts$|\/(testing|generated)\//.test(name) && !exempt.has(name);
  };
  const findings = findOutsideLookups(path.join(root, 'tsconfig.json'), isChecked);
  for (const { file, line } of findings) console.error(`${path.relative(root, file)}:${line}: ${MESSAGE}`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}

if (import.meta.main) main();
