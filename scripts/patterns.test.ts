// Every regular expression of the product, on texts made to mislead it: what comes from outside must not take more time than in proportion to its length.
import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import path from 'node:path';
import { it } from 'node:test';
import type { Expression, NewExpression, Node } from 'typescript/unstable/ast';
import {
  isIdentifier,
  isNewExpression,
  isNoSubstitutionTemplateLiteral,
  isRegularExpressionLiteral,
  isStringLiteral,
  isTemplateExpression,
  isVariableDeclaration,
} from 'typescript/unstable/ast/is';
import { API } from 'typescript/unstable/sync';

interface Pattern {
  readonly place: string;
  readonly source: string;
  readonly flags: string;
}

const root = path.join(import.meta.dirname, '..');

/** All regular expressions of the sources: literals, and those made of constants. What a constant is made of that is not known here stands as `x`. */
function patternsOf(): readonly Pattern[] {
  const files = globSync('src/**/*.ts', { cwd: root, exclude: ['**/*.test.ts', '**/testing/**', '**/generated/**'] });
  const configFile = path.join(root, 'tsconfig.json');
  const api = new API({ cwd: root });
  try {
    const program = api.updateSnapshot({ openProjects: [configFile] }).getProject(configFile)?.program;
    const parsed = files.map((file) => {
      const source = program?.getSourceFile(path.join(root, file));
      assert.ok(source, `${file} is not parsed`);
      return { file, source };
    });
    return patternsIn(parsed);
  } finally {
    api.close();
  }
}

interface Parsed {
  readonly file: string;
  readonly source: Node & { readonly text: string };
}

function patternsIn(parsed: readonly Parsed[]): readonly Pattern[] {
  const constants = new Map<string, Expression>();
  for (const { source } of parsed)
    eachNode(
      source,
      (node) =>
        void (
          isVariableDeclaration(node) &&
          isIdentifier(node.name) &&
          node.initializer !== undefined &&
          constants.set(node.name.text, node.initializer)
        ),
    );
  const found = new Map<string, Pattern>();
  for (const { file, source } of parsed) {
    eachNode(source, (node) => {
      const pattern = isRegularExpressionLiteral(node)
        ? literal(node.text)
        : isNewExpression(node) && isIdentifier(node.expression) && node.expression.text === 'RegExp'
          ? made(node, constants)
          : undefined;
      if (pattern !== undefined)
        found.set(`/${pattern.source}/${pattern.flags}`, {
          ...pattern,
          place: `${file}:${source.text.slice(0, node.getStart()).split('\n').length}`,
        });
    });
  }
  return [...found.values()];
}

function eachNode(node: Node, look: (node: Node) => void): void {
  look(node);
  node.forEachChild((child) => eachNode(child, look));
}

function literal(text: string): Omit<Pattern, 'place'> {
  const end = text.lastIndexOf('/');
  return { source: text.slice(1, end), flags: text.slice(end + 1) };
}

function made(
  { arguments: given }: NewExpression,
  constants: ReadonlyMap<string, Expression>,
): Omit<Pattern, 'place'> | undefined {
  const [source, flags] = given ?? [];
  const text = source === undefined ? undefined : textOf(source, constants);
  return text === undefined
    ? undefined
    : { source: text, flags: flags === undefined ? '' : (textOf(flags, constants) ?? '') };
}

function textOf(node: Expression, constants: ReadonlyMap<string, Expression>): string | undefined {
  if (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (isTemplateExpression(node))
    return (
      node.head.text +
      node.templateSpans
        .map(({ expression, literal: { text } }) => (textOf(expression, constants) ?? 'x') + text)
        .join('')
    );
  const known = isIdentifier(node) ? constants.get(node.text) : undefined;
  return known === undefined ? undefined : textOf(known, constants);
}

const signs = [...'a1 -_./:,="\'\\\n\t*()[]{}$%@+~#;<|Aü0exi&?!^'];
const pairs = ['a.', 'a-', '1.', 'a=', 'a,', '/a', '1:', '1_', ' \n', '\r\n', '$(', '"a', '\\"', ';a'];
const ends = ['', '!', '\u0000', '\n', '"', 'a'];

/** Texts that repeat what the pattern itself is made of, and what is usual in its kind; with an end that fits, or does not. */
function* misleading(
  { source }: Pattern,
  length: number,
): Generator<readonly [start: string, repeated: string, end: string, text: string]> {
  const words = [...new Set(source.match(/\w{2,}/g) ?? [])].slice(0, 6);
  for (const start of ['', 'a', '1', '/', '"', '[', ...words]) {
    for (const repeated of [...signs, ...pairs, ...words]) {
      const body = start + repeated.repeat(Math.ceil(length / repeated.length));
      for (const end of ends) yield [start, repeated, end, body + end];
    }
  }
}

function timeOf(pattern: RegExp, text: string, tries: number): number {
  let best = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < tries; attempt++) {
    const startMs = performance.now();
    pattern.lastIndex = 0;
    if (pattern.global) text.replaceAll(pattern, '');
    else pattern.test(text);
    best = Math.min(best, performance.now() - startMs);
  }
  return best;
}

const length = 1200;
/** No linear pattern needs so long for a text of that length, and every quadratic one does for one of eight times the length. */
const suspiciousMs = 0.15;
const growth = 8;

it('no regular expression takes more time than in proportion to the text', () => {
  const patterns = patternsOf();
  assert.ok(patterns.length > 300, `only ${patterns.length} were found`);
  const slow: string[] = [];
  for (const each of patterns) {
    const pattern = new RegExp(each.source, each.flags);
    for (const [start, repeated, end, text] of misleading(each, length)) {
      if (timeOf(pattern, text, 1) < suspiciousMs) continue;
      const short = timeOf(pattern, text, 3);
      if (short < suspiciousMs) continue;
      const long = timeOf(pattern, start + repeated.repeat(Math.ceil((length * growth) / repeated.length)) + end, 3);
      if (long < short * growth * 2) continue;
      slow.push(
        `${each.place}: /${each.source}/${each.flags} on ${JSON.stringify(start + repeated)}...${JSON.stringify(end)}: ${short.toFixed(1)} ms, ${growth} times as long ${long.toFixed(1)} ms`,
      );
      break;
    }
  }
  assert.deepEqual(slow, []);
});
