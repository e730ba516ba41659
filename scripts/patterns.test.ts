// Every regular expression of the product, on texts made to mislead it: what comes from outside must not take more time than in proportion to its length.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
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

/**
 * What stands before each regular expression: every sign after which a value begins, the start of a line, or a word of
 * the language. Some divisions and comments look alike. Most files have none of it, and a file that is parsed costs as
 * much as all of its patterns on all of the texts.
 */
const mayHoldPattern =
  /\bRegExp\b|(?:^|[^\w\s)\]'"`*./])\s*\/(?![/*])|\b(?:await|case|default|delete|do|else|in|instanceof|new|of|return|throw|typeof|void|yield)\s+\/(?![/*])/m;

type Source = Node & { readonly text: string };

/** All regular expressions of the sources: literals, and those made of constants. What a constant is made of that is not known here stands as `x`. */
function patternsOf(): readonly Pattern[] {
  const files = globSync('src/**/*.ts', { cwd: root, exclude: ['**/*.test.ts', '**/testing/**', '**/generated/**'] });
  const texts = new Map(files.map((file) => [file, readFileSync(path.join(root, file), 'utf8')]));
  // Only to be parsed: without types, and without what the files import.
  const configFile = path.join(root, 'tsconfig.patterns.json');
  const config = JSON.stringify({ compilerOptions: { noLib: true, noResolve: true, types: [] }, files });
  const api = new API({
    cwd: root,
    fs: {
      fileExists: (name) => (name === configFile ? true : undefined),
      readFile: (name) => (name === configFile ? config : undefined),
    },
  });
  try {
    const program = api.updateSnapshot({ openProjects: [configFile] }).getProject(configFile)?.program;
    const parse = (file: string): Source => {
      const source = program?.getSourceFile(path.join(root, file));
      assert.ok(source, `${file} is not parsed`);
      return source;
    };
    const constants = new Constants(texts, parse);
    return files
      .filter((file) => mayHoldPattern.test(texts.get(file) ?? ''))
      .flatMap((file) => patternsIn(file, parse(file), constants));
  } finally {
    api.close();
  }
}

/** What the constants of all files are made of, by their names; a file is parsed when one of its constants is used. */
class Constants {
  readonly #texts: ReadonlyMap<string, string>;
  readonly #parse: (file: string) => Source;
  readonly #known = new Map<string, Expression | undefined>();

  constructor(texts: ReadonlyMap<string, string>, parse: (file: string) => Source) {
    this.#texts = texts;
    this.#parse = parse;
  }

  get(name: string): Expression | undefined {
    if (!this.#known.has(name)) this.#known.set(name, this.#find(name));
    return this.#known.get(name);
  }

  #find(name: string): Expression | undefined {
    const declaration = new RegExp(`\\b(?:const|let|var)\\s+${name}\\b`);
    let found: Expression | undefined;
    for (const [file, text] of this.#texts) {
      if (!declaration.test(text)) continue;
      eachNode(this.#parse(file), (node) => {
        if (isVariableDeclaration(node) && isIdentifier(node.name) && node.name.text === name)
          found = node.initializer ?? found;
      });
    }
    return found;
  }
}

function patternsIn(file: string, source: Source, constants: Constants): readonly Pattern[] {
  const found: Pattern[] = [];
  eachNode(source, (node) => {
    const pattern = isRegularExpressionLiteral(node)
      ? literal(node.text)
      : isNewExpression(node) && isIdentifier(node.expression) && node.expression.text === 'RegExp'
        ? made(node, constants)
        : undefined;
    if (pattern === undefined) return;
    found.push({ ...pattern, place: `${file}:${source.text.slice(0, node.getStart()).split('\n').length}` });
  });
  return found;
}

function eachNode(node: Node, look: (node: Node) => void): void {
  look(node);
  node.forEachChild((child) => eachNode(child, look));
}

function literal(text: string): Omit<Pattern, 'place'> {
  const end = text.lastIndexOf('/');
  return { source: text.slice(1, end), flags: text.slice(end + 1) };
}

function made({ arguments: given }: NewExpression, constants: Constants): Omit<Pattern, 'place'> | undefined {
  const [source, flags] = given ?? [];
  const text = source === undefined ? undefined : textOf(source, constants);
  return text === undefined
    ? undefined
    : { source: text, flags: flags === undefined ? '' : (textOf(flags, constants) ?? '') };
}

function textOf(node: Expression, constants: Constants): string | undefined {
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
  const patterns = [...new Map(patternsOf().map((each) => [`/${each.source}/${each.flags}`, each])).values()];
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
