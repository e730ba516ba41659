// Checks the documents for people against the repository: named files exist, links resolve, tables say what the code says.
// usage: node scripts/check-docs.ts [--write]   (--write renews the tables that are made from code, in README.md, docs/control-plane.md and docs/metrics.md)
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { allowed } from './check-layers.ts';
import { missingKindsSentence, withControlPlaneTables } from './docs-control-plane.ts';
import { checkFalseWhen, checkMissingSections, featureState } from './docs-features.ts';
import { hasFamilies, METRICS_DOCUMENT, withFamilies } from './docs-metrics.ts';
import { renderWorks } from './docs-works.ts';

export interface Finding {
  readonly file: string;
  readonly line: number;
  readonly message: string;
}

/** The repository as the checks see it. Paths are relative to its root. */
export interface Repository {
  /** Whether a file or folder of this path, or of this pattern (`*` and `{a,b}`), exists. */
  exists(path: string): boolean;
  /** Whether some file anywhere bears this name. */
  existsByName(name: string): boolean;
  read(path: string): string;
}

/** Made by a build or by a run, or not one path but a command or a form of names: not looked for. */
const notAPath = /^(dist|node_modules|\.data)(\/|$)|[ <]|NNN/;
const topLevel = /^(src|docs|scripts|test|bin|changes|\.ci)\//;
const rootFile = /^(package\.json|package-lock\.json|tsconfig\.json|\.oxlintrc\.json|[A-Z]+\.md|LICENSE)$/;
const bareSource = /^[a-z0-9.{},*-]+\.(ts|mjs|yaml|service|md)$/;

/** Replaces fenced blocks by empty lines, so that line numbers stay. */
export function withoutFences(text: string): string {
  return text.replace(/^( *)(```|~~~)[\s\S]*?^\1\2.*$/gm, (block) => block.replace(/[^\n]/g, ''));
}

const lineAt = (text: string, index: number): number => text.slice(0, index).split('\n').length;

/** Every path in backticks exists, and what stands in brackets behind a source file is found in it: `a.ts` (`name`). */
export function checkNamedFiles(file: string, text: string, repository: Repository): Finding[] {
  const prose = withoutFences(text);
  const findings: Finding[] = [];
  for (const match of prose.matchAll(/`([^`\n]+)`(?: \(((?:`[^`\n]+`(?:, )?)+)\))?/g)) {
    const [, name = '', symbols] = match;
    const line = lineAt(prose, match.index);
    if (notAPath.test(name)) continue;
    const isPath = topLevel.test(name) || rootFile.test(name);
    if (isPath ? !repository.exists(name) : bareSource.test(name) && !repository.existsByName(name))
      findings.push({ file, line, message: `${name} does not exist` });
    else if (isPath && symbols !== undefined)
      findings.push(...missingSymbols({ file, line, name }, symbols, repository));
  }
  return findings;
}

function missingSymbols(
  at: { file: string; line: number; name: string },
  symbols: string,
  repository: Repository,
): Finding[] {
  if (!at.name.endsWith('.ts')) return [];
  const source = repository.read(at.name);
  const wanted = [...symbols.matchAll(/`([^`]+)`/g)].map((match) => (match[1] ?? '').replace(/\(\)$/, ''));
  return wanted
    .filter((symbol) => !source.includes(symbol))
    .map((symbol) => ({ file: at.file, line: at.line, message: `${at.name} has no ${symbol}` }));
}

/** As GitHub makes anchors of headings. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-');
}

/** Every relative link leads to a file, and its fragment to a heading. */
export function checkLinks(file: string, text: string, repository: Repository): Finding[] {
  const prose = withoutFences(text);
  const findings: Finding[] = [];
  for (const match of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
    const target = match[1] ?? '';
    if (/^[a-z]+:/.test(target)) continue;
    const [place = '', fragment] = target.split('#');
    const resolved = place === '' ? file : path.posix.join(path.posix.dirname(file), place);
    const line = lineAt(prose, match.index);
    if (!repository.exists(resolved))
      findings.push({ file, line, message: `link to ${target}: there is no ${resolved}` });
    else if (fragment !== undefined && !headings(repository.read(resolved)).includes(fragment))
      findings.push({ file, line, message: `link to ${target}: no such heading` });
  }
  return findings;
}

function headings(text: string): string[] {
  return [...withoutFences(text).matchAll(/^#+ (.+)$/gm)].map((match) => anchorOf(match[1] ?? ''));
}

/** Rows of the first table under this head, each cell without backticks. */
function tableUnder(text: string, firstHead: string): string[][] {
  const lines = text.split('\n');
  const start = lines.findIndex((line) => line.startsWith(`| ${firstHead} |`));
  if (start === -1) return [];
  const rows: string[][] = [];
  for (const line of lines.slice(start + 2)) {
    if (!line.startsWith('|')) break;
    rows.push(
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.replaceAll('`', '').trim()),
    );
  }
  return rows;
}

/** The layer table of the architecture is the one imports are checked by. */
export function checkLayerTable(
  file: string,
  text: string,
  layers: Readonly<Record<string, readonly string[]>>,
): Finding[] {
  const shown = Object.fromEntries(
    tableUnder(text, 'Folder').map(([folder = '', , imports = '']) => [
      folder,
      imports === 'nothing' ? [] : imports.split(/,\s*/),
    ]),
  );
  const folders = [...new Set([...Object.keys(layers), ...Object.keys(shown)])];
  return folders
    .filter((folder) => [...(layers[folder] ?? ['?'])].sort().join() !== [...(shown[folder] ?? ['?'])].sort().join())
    .map((folder) => ({
      file,
      line: 1,
      message: `layer table: ${folder} may import ${(layers[folder] ?? ['(not in scripts/check-layers.ts)']).join(', ') || 'nothing'}`,
    }));
}

/** Each dependency and each Debian package that set-up installs has a row, and no row is left over. */
export function checkDependencies(
  file: string,
  text: string,
  wanted: { npm: readonly string[]; debian: readonly string[] },
): Finding[] {
  const compare = (head: string, names: readonly string[]): Finding[] => {
    const rows = tableUnder(text, head).map(([name = '']) => name);
    const missing = names.filter((name) => !rows.includes(name)).map((name) => `${name} has no line`);
    const left = rows.filter((name) => !names.includes(name)).map((name) => `${name} is not used any more`);
    return [...missing, ...left].map((message) => ({ file, line: 1, message }));
  };
  return [...compare('npm package', wanted.npm), ...compare('Debian package', wanted.debian)];
}

export function npmDependencies(packageJson: string): string[] {
  const {
    dependencies = {},
    devDependencies = {},
    optionalDependencies = {},
  } = JSON.parse(packageJson) as Record<string, Record<string, string> | undefined>;
  return Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies });
}

/** What scripts/setup-machine.sh installs or unpacks. */
export function debianPackages(setupScript: string): string[] {
  const needed = [...setupScript.matchAll(/\bneed ([a-z0-9][a-z0-9+.-]+) "/g)].map((match) => match[1] ?? '');
  const unpacked = [...setupScript.matchAll(/\bdownload ([a-z0-9][a-z0-9+.-]+)/g)].map((match) => match[1] ?? '');
  return [...new Set([...needed, ...unpacked])];
}

/** Documents are about the agent: not about how they were written, and free of the addresses of public registries. */
const unwanted: readonly RegExp[] = [
  /\bAI\b/,
  /\b(LLM|chatbot|language model)s?\b/i,
  /\bsessions?\b/i,
  // But "docker.io" in backquotes is a package of Debian's.
  /\b(registry|(?<!`)docker|npmjs|quay|[a-z]*gcr|ghcr)\.([a-z0-9-]+\.)*(io|org|com)\b/i,
];

export function checkWords(file: string, text: string): Finding[] {
  return text.split('\n').flatMap((content, index) => {
    // A row with a result of upstream's suite has the suite's words.
    const prose = /^\| ``? ?\[sig-/.test(content) ? '' : content.replace(/`[^`]*\.ts`/g, '');
    return unwanted.flatMap((pattern) =>
      pattern.test(prose)
        ? [{ file, line: index + 1, message: `does not belong in a document: ${pattern.exec(prose)?.[0]}` }]
        : [],
    );
  });
}

const worksBlock = /<!-- works:begin -->\n[\s\S]*?<!-- works:end -->/;

const kindsBlock = /<!-- missing-kinds:begin -->\n[\s\S]*?<!-- missing-kinds:end -->/;

/** The README with the table of what works as the parity tables have it, and with the kinds that the control plane does not have. */
function withWorks(readme: string): string {
  return readme
    .replace(worksBlock, () => `<!-- works:begin -->\n${renderWorks()}\n<!-- works:end -->`)
    .replace(kindsBlock, () => `<!-- missing-kinds:begin -->\n${missingKindsSentence()}\n<!-- missing-kinds:end -->`);
}

function documentsOf(root: string): string[] {
  return globSync(['*.md', 'docs/**/*.md', 'changes/*.md'], { cwd: root }).sort();
}

/** The files of a checkout. */
function openRepository(root: string): Repository {
  const names = new Set(
    globSync(['src/**/*.*', 'scripts/**/*.*', 'test/**/*.*', 'docs/**/*.*', 'changes/*.*', '*.*'], { cwd: root }).map(
      (file) => path.basename(file),
    ),
  );
  const variants = (name: string): string[] => {
    const braces = /\{([^}]*)\}/.exec(name);
    return braces === null
      ? [name]
      : (braces[1] ?? '').split(',').flatMap((part) => variants(name.replace(braces[0], part)));
  };
  return {
    exists: (name) => variants(name).every((each) => globSync(each.replace(/\/$/, ''), { cwd: root }).length > 0),
    existsByName: (name) =>
      variants(name).every((each) =>
        each.includes('*') ? [...names].some((known) => path.matchesGlob(known, each)) : names.has(each),
      ),
    read: (name) => readFileSync(path.join(root, name), 'utf8'),
  };
}

const CONTROL_PLANE_DOCUMENT = 'docs/control-plane.md';

export function checkDocuments(root: string): Finding[] {
  const repository = openRepository(root);
  const findings = documentsOf(root).flatMap((file) => {
    const text = repository.read(file);
    return [
      ...checkNamedFiles(file, text, repository),
      ...checkLinks(file, text, repository),
      ...checkWords(file, text),
      ...checkFalseWhen(file, text, (name) => featureState(name, root)),
      ...checkMissingSections(file, text),
    ];
  });
  const readme = repository.read('README.md');
  if (withWorks(readme) !== readme || !worksBlock.test(readme) || !kindsBlock.test(readme))
    findings.push({
      file: 'README.md',
      line: 1,
      message:
        'the table of what works, or the kinds that are missing, are not current: run node scripts/check-docs.ts --write',
    });
  const controlPlane = repository.read(CONTROL_PLANE_DOCUMENT);
  if (withControlPlaneTables(controlPlane, root) !== controlPlane)
    findings.push({
      file: CONTROL_PLANE_DOCUMENT,
      line: 1,
      message: 'its tables are not current: run node scripts/check-docs.ts --write',
    });
  const metrics = repository.read(METRICS_DOCUMENT);
  if (withFamilies(metrics) !== metrics || !hasFamilies(metrics))
    findings.push({
      file: METRICS_DOCUMENT,
      line: 1,
      message: 'its table of families is not current: run node scripts/check-docs.ts --write',
    });
  const dependencies = {
    npm: npmDependencies(repository.read('package.json')),
    debian: debianPackages(repository.read('scripts/setup-machine.sh')),
  };
  return [
    ...findings,
    ...checkLayerTable('docs/architecture.md', repository.read('docs/architecture.md'), allowed),
    ...checkDependencies('docs/dependencies.md', repository.read('docs/dependencies.md'), dependencies),
  ];
}

if (import.meta.main) {
  const root = path.join(import.meta.dirname, '..');
  if (process.argv.includes('--write')) {
    const renew = (file: string, render: (text: string) => string): void =>
      writeFileSync(path.join(root, file), render(readFileSync(path.join(root, file), 'utf8')));
    renew('README.md', withWorks);
    renew(CONTROL_PLANE_DOCUMENT, (text) => withControlPlaneTables(text, root));
    renew(METRICS_DOCUMENT, withFamilies);
  }
  const findings = checkDocuments(root);
  for (const { file, line, message } of findings) console.error(`${file}:${line}: ${message}`);
  console.log(`documents: ${documentsOf(root).length} files, ${findings.length} wrong`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}
