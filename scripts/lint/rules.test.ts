// Every rule of .oxlintrc.json still finds what it is there for: a sample of bad code for each, in files of the places
// that the rules speak of.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

const root = path.join(import.meta.dirname, '..', '..');
const long = (lines: number): string => 'void 0;\n'.repeat(lines);

/** What each rule must find in a file of the agent's core. */
const core: Readonly<Record<string, string>> = {
  'eslint(eqeqeq)': 'export const f = (a: number): boolean => a == 1;',
  'eslint(max-lines)': long(551),
  'eslint(max-lines-per-function)': `export function f(): void {\n${long(111)}}`,
  'eslint(max-params)':
    'export const f = (a: 1, b: 1, c: 1, d: 1, e: 1, g: 1): readonly number[] => [a, b, c, d, e, g];',
  'eslint(no-array-constructor)': 'export const a = new Array(1, 2);',
  'eslint(no-restricted-globals)': 'setTimeout(() => undefined, 1);',
  'eslint(no-unused-expressions)': 'export const f = (a: number): void => { a; };',
  'eslint(no-unused-vars)': 'const a = 1;',
  'eslint(no-var)': 'export var a = 1;',
  'eslint(prefer-const)': 'let a = 1;\nexport const b = a;',
  'eslint(prefer-rest-params)': 'export function f(): unknown {\n  return arguments;\n}',
  'eslint(prefer-spread)':
    'export const f = (g: (...n: number[]) => void, n: number[]): void => g.apply(undefined, n);',
  'local(plain-syntax)': 'try { void 0; } catch { /* dropped */ }',
  'local(constant-case)': 'export const limitMs = 10 * 60;',
  'local(function-verbs)': 'export function podPlan(): number {\n  return 1;\n}',
  'local(hooks-in-suites)': "import { beforeEach } from 'node:test';\nbeforeEach(() => undefined);",
  'local(injected-time)': 'export const now = Date.now();',
  'typescript(ban-ts-comment)': '// @ts-ignore\nexport const a: string = 1;',
  'typescript(consistent-type-imports)': "import { Stats } from 'node:fs';\nexport const f = (s: Stats): Stats => s;",
  'typescript(no-duplicate-enum-values)': 'export enum E { a = 1, b = 1 }',
  'typescript(no-empty-object-type)': 'export interface A {}',
  'typescript(no-explicit-any)': 'export const f = (a: any): unknown => a;',
  'typescript(no-extra-non-null-assertion)': 'export const f = (a?: { b: 1 }): unknown => a!!.b;',
  'typescript(no-floating-promises)': 'const f = async (): Promise<void> => undefined;\nf();',
  'typescript(no-misused-new)': 'export interface A { new (): A; }',
  'typescript(no-misused-promises)':
    'const f = async (): Promise<boolean> => true;\nexport const g = (): number => (f() ? 1 : 2);',
  'typescript(no-namespace)': 'export namespace A { export const b = 1; }',
  'typescript(no-non-null-asserted-optional-chain)': 'export const f = (a?: { b?: 1 }): 1 => a?.b!;',
  'typescript(no-require-imports)': "import fs = require('node:fs');\nexport const f = fs.readFileSync;",
  'typescript(no-this-alias)': 'export class A {\n  b(): A {\n    const self = this;\n    return self;\n  }\n}',
  'typescript(no-unnecessary-type-constraint)': 'export const f = <A extends unknown>(a: A): A => a;',
  'typescript(no-unsafe-declaration-merging)': 'export interface A { b: 1 }\nexport class A {}',
  'typescript(no-unsafe-function-type)': 'export const f = (a: Function): unknown => a;',
  'typescript(no-wrapper-object-types)': 'export const f = (a: String): unknown => a;',
  'typescript(prefer-as-const)': "export const a = 'a' as 'a';",
  'typescript(prefer-namespace-keyword)': 'export declare module A { const b: 1; }',
  'typescript(switch-exhaustiveness-check)':
    "export function f(a: 'b' | 'c'): void {\n  switch (a) {\n    case 'b':\n      return;\n  }\n}",
  'typescript(triple-slash-reference)': '/// <reference path="./a.ts" />\nexport const a = 1;',
};

/** More of the rules that have several patterns each: what is said about each. */
const said: Readonly<Record<string, string>> = {
  'Use a union of string literals.': 'export enum E { a }',
  'Named exports only.': 'export default 1;',
  'Import types in a statement of their own':
    "import { readFileSync, type Stats } from 'node:fs';\nexport const f = (): Stats | Buffer => readFileSync('a');",
  'only used as type':
    "import { readFileSync, Stats } from 'node:fs';\nexport const f = (): Stats | Buffer => readFileSync('a');",
  'Say in a comment-bearing statement': 'try { void 0; } catch { /* dropped */ }',
  'Inject Clock.': 'export const a = new Date();',
  'camelCase for a table': 'export const NAMES = [1];',
  'Inject Random.': 'export const a = Math.random() + Number(crypto.randomUUID());',
  'Unused eslint-disable directive': '// eslint-disable-next-line no-var\nexport const a = 1;',
};

/** What each rule must find in the page of the node, which is JavaScript for browsers. */
const page: Readonly<Record<string, string>> = {
  'eslint(eqeqeq)': 'export const f = (a) => a == 1;',
  'eslint(max-lines)': long(551),
  'eslint(max-lines-per-function)': `export function f() {\n${long(111)}}`,
  'eslint(max-params)': 'export const f = (a, b, c, d, e, g, h) => [a, b, c, d, e, g, h];',
  'eslint(no-eval)': "eval('1');",
  'eslint(no-implied-eval)': "setTimeout('f()', 1);",
  'eslint(no-new-func)': "export const f = new Function('return 1');",
  'eslint(no-restricted-globals)': "localStorage.getItem('a');",
  'eslint(no-restricted-properties)': "document.body.innerHTML = '';",
  'eslint(no-unused-vars)': 'const a = 1;',
  'eslint(no-var)': 'export var a = 1;',
  'eslint(prefer-const)': 'let a = 1;\nexport const b = a;',
  'local(plain-syntax)': 'export default 1;',
  'local(hooks-in-suites)': 'beforeEach(() => undefined);',
};

interface Diagnostic {
  readonly code?: string;
  readonly message: string;
  readonly filename: string;
}

/** What lint says of files, by their names. The folder has the configuration of this repository. */
function lint(files: ReadonlyMap<string, string>): readonly Diagnostic[] {
  const folder = mkdtempSync(path.join(tmpdir(), 'kts-lint-'));
  try {
    for (const name of ['.oxlintrc.json', 'package.json', 'tsconfig.json', 'scripts/lint'])
      cpSync(path.join(root, name), path.join(folder, name), { recursive: true });
    symlinkSync(path.join(root, 'node_modules'), path.join(folder, 'node_modules'));
    for (const [name, text] of files) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      writeFileSync(path.join(folder, name), `${text}\n`);
    }
    const program = path.join(root, 'node_modules', '.bin', 'oxlint');
    // With this Node: the first of PATH may be too old to read the rules.
    const run = [program, '--format=json', 'src', 'test'];
    const { stdout, stderr } = spawnSync(process.execPath, run, { cwd: folder, encoding: 'utf8' });
    assert.match(stdout, /"diagnostics"/, stderr);
    return (JSON.parse(stdout) as { diagnostics: readonly Diagnostic[] }).diagnostics;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const fileName = (code: string): string => code.replaceAll(/\W/g, '-');

test('every rule of lint finds a sample of what it refuses', () => {
  const files = new Map<string, string>();
  for (const [code, text] of Object.entries(core)) files.set(`src/kubelet/loop/${fileName(code)}.ts`, text);
  for (const [words, text] of Object.entries(said)) files.set(`src/kubelet/loop/${fileName(words)}.ts`, text);
  for (const [code, text] of Object.entries(page))
    files.set(`src/kubelet/features/page/assets/${fileName(code)}.js`, text);
  files.set('test/e2e/own-process.test.ts', "import { beforeEach } from 'node:test';\nbeforeEach(() => undefined);");
  files.set('src/base/clock.ts', 'export const now = Date.now();');
  const found = lint(files);
  const says = (file: string): string =>
    found
      .filter(({ filename }) => filename === file)
      .map(({ code = '', message }) => `${code} ${message}`)
      .join('\n');
  const silent = [
    ...Object.keys(core).filter((code) => !says(`src/kubelet/loop/${fileName(code)}.ts`).includes(code)),
    ...Object.keys(said).filter((words) => !says(`src/kubelet/loop/${fileName(words)}.ts`).includes(words)),
    ...Object.keys(page).filter(
      (code) => !says(`src/kubelet/features/page/assets/${fileName(code)}.js`).includes(code),
    ),
  ];
  assert.deepEqual(silent, []);
  assert.equal(says('test/e2e/own-process.test.ts'), '', 'a file with a process of its own may have hooks');
  assert.equal(says('src/base/clock.ts'), '', 'the outermost folders may read the clock');
});

test('every rule of lint has a sample', () => {
  const text = readFileSync(path.join(root, '.oxlintrc.json'), 'utf8');
  const named = new Set([...text.matchAll(/^ {8}"([a-z-/]+)": (?!"off")/gm)].map(([, name = '']) => name));
  const sampled = new Set(
    [...Object.keys(core), ...Object.keys(page)].map((code) =>
      code.replace('eslint(', '').replace('(', '/').replace(')', ''),
    ),
  );
  assert.ok(named.size > 30, `only ${named.size} rules were read`);
  assert.deepEqual(
    [...named].filter((name) => !sampled.has(name)),
    [],
  );
});
