// A rule of lint: a property of an interface is `readonly` unless some code assigns it. Run as a program, it checks the
// sources of the product, its tests and its scripts.
import path from 'node:path';
import type { Node, PropertySignatureDeclaration } from 'typescript/unstable/ast';
import { SyntaxKind } from 'typescript/unstable/ast';
import {
  isArrayLiteralExpression,
  isBinaryExpression,
  isDeleteExpression,
  isElementAccessExpression,
  isForInStatement,
  isForOfStatement,
  isInterfaceDeclaration,
  isObjectLiteralExpression,
  isParenthesizedExpression,
  isPostfixUnaryExpression,
  isPrefixUnaryExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isPropertySignatureDeclaration,
  isSpreadElement,
} from 'typescript/unstable/ast/is';
import type { FileSystem } from 'typescript/unstable/fs';
import type { Project } from 'typescript/unstable/sync';
import { API } from 'typescript/unstable/sync';

const MESSAGE = 'No code assigns this member: make it `readonly`.';

export interface Finding {
  readonly file: string;
  /** Counts from 1. */
  readonly line: number;
}

const isAssignment = (kind: SyntaxKind): boolean =>
  kind >= SyntaxKind.FirstAssignment && kind <= SyntaxKind.LastAssignment;

/** The expression that the node assigns or deletes. */
function targetOf(node: Node): Node | undefined {
  if (isBinaryExpression(node)) return isAssignment(node.operatorToken.kind) ? node.left : undefined;
  if (isPostfixUnaryExpression(node)) return node.operand;
  if (isPrefixUnaryExpression(node)) {
    const { operator, operand } = node;
    return operator === SyntaxKind.PlusPlusToken || operator === SyntaxKind.MinusMinusToken ? operand : undefined;
  }
  if (isDeleteExpression(node)) return node.expression;
  return isForOfStatement(node) || isForInStatement(node) ? node.initializer : undefined;
}

/** Adds the names of the members that the target of an assignment stands for, which may be a pattern. */
function membersOf(target: Node, found: Node[]): void {
  if (isPropertyAccessExpression(target)) found.push(target.name);
  else if (isElementAccessExpression(target)) found.push(target.argumentExpression);
  else if (isParenthesizedExpression(target) || isSpreadElement(target)) membersOf(target.expression, found);
  else if (isArrayLiteralExpression(target)) for (const element of target.elements) membersOf(element, found);
  else if (isObjectLiteralExpression(target))
    for (const property of target.properties)
      if (isPropertyAssignment(property)) membersOf(property.initializer, found);
}

function assignedIn(node: Node, found: Node[]): void {
  const target = targetOf(node);
  if (target !== undefined) membersOf(target, found);
  node.forEachChild((child) => assignedIn(child, found));
}

const isReadonly = (member: PropertySignatureDeclaration): boolean =>
  member.modifiers?.some(({ kind }) => kind === SyntaxKind.ReadonlyKeyword) ?? false;

function mutableIn(node: Node, found: PropertySignatureDeclaration[]): void {
  if (isInterfaceDeclaration(node))
    found.push(...node.members.filter(isPropertySignatureDeclaration).filter((member) => !isReadonly(member)));
  node.forEachChild((child) => mutableIn(child, found));
}

/** Identifies a declaration in all files. */
const placeOf = (file: string, start: number): string => `${file}:${start}`;

/** The declarations of the members that code in the file assigns. */
function assignedPlaces(project: Project, file: string): readonly string[] {
  const names: Node[] = [];
  const source = project.program.getSourceFile(file);
  if (source !== undefined) assignedIn(source, names);
  if (names.length === 0) return [];
  return project.checker
    .getSymbolAtLocation(names)
    .flatMap((symbol) => symbol?.declarations ?? [])
    .map((declaration) => declaration.resolve(project))
    .filter((declaration) => declaration !== undefined)
    .map((declaration) => placeOf(declaration.getSourceFile().fileName, declaration.getStart()));
}

/** What the rule finds in the files of a TypeScript project that `isChecked` names by their absolute paths. */
export function findMutableMembers(
  configFile: string,
  isChecked: (file: string) => boolean,
  fs?: FileSystem,
): readonly Finding[] {
  const api = new API({ cwd: path.dirname(configFile), fs });
  try {
    const project = api.updateSnapshot({ openProjects: [configFile] }).getProject(configFile);
    if (project === undefined) throw new Error(`${configFile} names no project`);
    const files = project.program.getSourceFileNames().filter(isChecked);
    const assigned = new Set(files.flatMap((file) => assignedPlaces(project, file)));
    return files.flatMap((file) => {
      const source = project.program.getSourceFile(file);
      const members: PropertySignatureDeclaration[] = [];
      if (source !== undefined) mutableIn(source, members);
      return members
        .filter((member) => !assigned.has(placeOf(file, member.getStart())))
        .map((member) => ({ file, line: source?.text.slice(0, member.getStart()).split('\n').length ?? 0 }));
    });
  } finally {
    api.close();
  }
}

function main(): void {
  const root = path.join(import.meta.dirname, '..', '..');
  const isChecked = (file: string): boolean => {
    const name = path.relative(root, file);
    return /^(src|test|scripts)\//.test(name) && !name.includes('/generated/');
  };
  const findings = findMutableMembers(path.join(root, 'tsconfig.json'), isChecked);
  for (const { file, line } of findings) console.error(`${path.relative(root, file)}:${line}: ${MESSAGE}`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}

if (import.meta.main) main();
