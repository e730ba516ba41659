// Checks every import below src/: its direction, against the table of docs/architecture.md, and that no files import each
// other in a circle; that the composition root composes and does nothing else; and that every exported function, class
// and constant is imported somewhere.
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';

/**
 * Which folders a folder may import, besides itself. `kubelet/features/*` stands for each feature folder on its own.
 */
export const allowed: Record<string, readonly string[]> = {
  base: [],
  api: ['base'],
  pki: ['base'],
  tracing: ['base', 'grpc'],
  grpc: ['base'],
  streaming: ['base'],
  cel: ['base'],
  cri: ['base', 'grpc'],
  csi: ['base', 'grpc'],
  devices: ['base', 'grpc'],
  'kubelet/model': ['base', 'api'],
  'kubelet/ports': ['base', 'api', 'kubelet/model'],
  'kubelet/features/*': ['base', 'api', 'pki', 'kubelet/model', 'kubelet/ports'],
  'kubelet/loop': ['base', 'api', 'kubelet/model', 'kubelet/ports', 'kubelet/features/*'],
  'kubelet/adapters': [
    'base',
    'api',
    'pki',
    'grpc',
    'streaming',
    'cri',
    'csi',
    'devices',
    'kubelet/model',
    'kubelet/ports',
  ],
  'kubelet/cmd': [
    'base',
    'api',
    'pki',
    'tracing',
    'grpc',
    'cri',
    'csi',
    'client',
    'kubelet/model',
    'kubelet/ports',
    'kubelet/features/*',
    'kubelet/loop',
    'kubelet/adapters',
    'dockershim/cmd',
  ],
  client: ['base', 'api'],
  'control-plane/model': ['base', 'api'],
  'control-plane/cel': ['base', 'api', 'cel', 'control-plane/model'],
  'control-plane/storage': ['base', 'grpc'],
  'control-plane/pki': ['base', 'pki'],
  'control-plane/patch': ['base', 'api', 'control-plane/model'],
  'control-plane/resources': ['base', 'api', 'cel', 'control-plane/cel', 'control-plane/model'],
  'control-plane/openapi': ['base', 'api', 'control-plane/model'],
  'control-plane/aggregator': ['base', 'api', 'control-plane/model', 'control-plane/controller-runtime'],
  'control-plane/custom-resources': [
    'base',
    'api',
    'cel',
    'control-plane/cel',
    'control-plane/model',
    'control-plane/controller-runtime',
  ],
  'control-plane/registry': ['base', 'api', 'control-plane/model', 'control-plane/storage', 'control-plane/patch'],
  'control-plane/authn': ['base', 'api', 'pki', 'cel', 'control-plane/cel', 'control-plane/model'],
  'control-plane/authz': ['base', 'api', 'cel', 'control-plane/cel', 'control-plane/model'],
  'control-plane/admission': ['base', 'api', 'cel', 'control-plane/cel', 'control-plane/model'],
  'control-plane/apiserver': [
    'base',
    'api',
    'streaming',
    'control-plane/model',
    'control-plane/registry',
    'control-plane/openapi',
  ],
  'control-plane/controller-runtime': ['base', 'api'],
  'control-plane/controllers/*': ['base', 'api', 'control-plane/controller-runtime'],
  'control-plane/scheduler': ['base', 'api', 'cel', 'control-plane/cel', 'control-plane/controller-runtime'],
  'control-plane/fake-nodes': ['base', 'api', 'control-plane/controller-runtime'],
  'control-plane/explain': ['base', 'api', 'control-plane/scheduler'],
  'control-plane/cmd': [
    'base',
    'api',
    'pki',
    'tracing',
    'grpc',
    'client',
    ...[
      'model',
      'storage',
      'pki',
      'patch',
      'cel',
      'resources',
      'openapi',
      'aggregator',
      'custom-resources',
      'registry',
      'authn',
      'authz',
      'admission',
      'apiserver',
      'controller-runtime',
      'controllers/*',
      'scheduler',
      'fake-nodes',
      'explain',
    ].map((part) => `control-plane/${part}`),
  ],
  'node-network/nftables': ['base'],
  'node-network/network-policy': ['base', 'api', 'node-network/nftables'],
  'node-network/service-routing': ['base', 'api', 'control-plane/controller-runtime', 'node-network/nftables'],
  'node-network/dns': ['base', 'api'],
  'node-network/overlay': ['base', 'api', 'node-network/service-routing'],
  'node-network/adapters': [
    'base',
    'node-network/nftables',
    'node-network/service-routing',
    'node-network/dns',
    'node-network/overlay',
  ],
  'node-network/cmd': [
    'base',
    'api',
    'client',
    'control-plane/controller-runtime',
    'node-network/nftables',
    'node-network/network-policy',
    'node-network/service-routing',
    'node-network/dns',
    'node-network/overlay',
    'node-network/adapters',
  ],
  'node-storage/provisioner': ['base', 'api', 'control-plane/controller-runtime'],
  'node-storage/adapters': ['base', 'node-storage/provisioner'],
  'node-storage/cmd': [
    'base',
    'api',
    'client',
    'control-plane/controller-runtime',
    'node-storage/provisioner',
    'node-storage/adapters',
  ],
  'dockershim/engine': [],
  'dockershim/plan': ['base', 'grpc', 'cri', 'dockershim/engine'],
  'dockershim/cni': ['base', 'cri'],
  'dockershim/shim': ['base', 'grpc', 'cri', 'streaming', 'dockershim/engine', 'dockershim/plan', 'dockershim/cni'],
  'dockershim/adapters': [
    'base',
    'cri',
    'streaming',
    'dockershim/engine',
    'dockershim/plan',
    'dockershim/cni',
    'dockershim/shim',
  ],
  'dockershim/cmd': ['base', 'grpc', 'cri', 'dockershim/cni', 'dockershim/shim', 'dockershim/adapters'],
  up: [
    'base',
    'api',
    'grpc',
    'cri',
    'csi',
    'kubelet/model',
    'kubelet/ports',
    'kubelet/features/*',
    'kubelet/loop',
    'kubelet/adapters',
    'kubelet/cmd',
    'client',
    'node-network/nftables',
    'node-network/network-policy',
    'node-network/service-routing',
    'node-network/adapters',
    'node-storage/provisioner',
    'control-plane/pki',
    'control-plane/cmd',
  ],
};

/** Node's modules that do I/O or know the process; only adapters and the outermost folders may touch them. */
const outerIo =
  /^node:(fs|fs\/promises|net|http|http2|https|tls|dgram|dns|child_process|cluster|os|process|worker_threads|readline|repl|tty|v8|vm|inspector|perf_hooks|timers|timers\/promises|sqlite)$/;
const ioAllowed =
  /^src\/(base\/|pki\/|kubelet\/adapters\/|kubelet\/cmd\/|node-network\/(adapters|cmd)\/|node-storage\/(adapters|cmd)\/|dockershim\/(adapters|cmd)\/|grpc\/|streaming\/|cri\/|csi\/|up\/|client\/|control-plane\/(storage|pki|apiserver|authn|authz|admission|cmd)\/)/;

interface Finding {
  readonly file: string;
  readonly message: string;
}

/** Folders whose parts are layers of their own. */
const divided: ReadonlySet<string> = new Set([
  'kubelet',
  'control-plane',
  'node-network',
  'node-storage',
  'dockershim',
]);

/** The layer a file below src/ belongs to: [exact name, name in the table]. */
function layerOf(file: string): { exact: string; rule: string } | undefined {
  const parts = file.split('/').slice(1);
  const [top, part, concept] = parts;
  if (top === undefined) return undefined;
  if (!divided.has(top)) return { exact: top, rule: top };
  if ((top === 'kubelet' && part === 'features') || (top === 'control-plane' && part === 'controllers'))
    return { exact: `${top}/${part}/${concept}`, rule: `${top}/${part}/*` };
  return { exact: `${top}/${part}`, rule: `${top}/${part}` };
}

function importsOf(source: string): string[] {
  const found = source.matchAll(
    /(?:^|\n)\s*(?:import|export)\s[^'"]*?from\s+['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)|(?:^|\n)\s*import\s+['"]([^'"]+)['"]/g,
  );
  return [...found].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
}

const isTestCode = (file: string): boolean => file.endsWith('.test.ts') || file.includes('/testing/');

function checkFile(file: string, source: string): Finding[] {
  const from = layerOf(file);
  if (from === undefined) return [];
  const rules = allowed[from.rule];
  if (rules === undefined) return [{ file, message: `folder ${from.exact} has no row in the layer table` }];
  const findings: Finding[] = [];
  for (const target of importsOf(source)) {
    if (!target.startsWith('.')) {
      if (outerIo.test(target) && !ioAllowed.test(file) && !isTestCode(file))
        findings.push({ file, message: `imports ${target}: I/O belongs behind a port, in kubelet/adapters` });
      continue;
    }
    const resolved = path.posix.normalize(path.posix.join(path.posix.dirname(file), target));
    if (!resolved.startsWith('src/')) {
      if (!isTestCode(file) && from.exact !== 'up')
        findings.push({ file, message: `imports ${resolved}, outside src/` });
      continue;
    }
    if (isTestCode(file) && resolved.includes('/testing/')) continue;
    if (!isTestCode(file) && resolved.includes('/testing/')) {
      findings.push({ file, message: `product code imports the test code ${resolved}` });
      continue;
    }
    const to = layerOf(resolved);
    if (to === undefined || to.exact === from.exact || rules.includes(to.rule)) continue;
    findings.push({ file, message: `imports ${resolved}: ${from.exact} may not know ${to.exact}` });
  }
  return findings;
}

const COMPOSITION_ROOT = 'src/kubelet/cmd/compose/';

/**
 * Functions and classes of a file of the composition root that do something else than compose: what decides something
 * has its place in a feature, where it has a test.
 */
export function strayFunctions(source: string): string[] {
  const declared = source.matchAll(
    /^(?:export )?(?:default )?(?:async )?(?:function\*? |class |const )(\w+)(?=(.*(?:\n .*)*))/gm,
  );
  return [...declared]
    .filter(
      ([text, , rest = '']) =>
        !/\bconst /.test(text) || /^(?:: [^=]*)? = (?:async )?(?:\([^()]*\)|\w+)[^=]*=>/.test(rest),
    )
    .map(([, name = '']) => name)
    .filter((name) => !name.startsWith('compose'));
}

/** The files below src/ that a file imports. */
function targetsOf(file: string, source: string): string[] {
  return importsOf(source)
    .filter((target) => target.startsWith('.'))
    .map((target) => path.posix.normalize(path.posix.join(path.posix.dirname(file), target)));
}

/**
 * Groups of files that all reach each other by imports, each sorted; imports of types count, too (Tarjan's strongly
 * connected components). `imports` holds for each file the files it imports; others than its keys are left out.
 */
export function findCircles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const circles: string[][] = [];
  const numbers = new Map<string, number>();
  const open: string[] = [];
  /** Returns the lowest number among the open files that `file` reaches. */
  const visit = (file: string): number => {
    const number = numbers.size;
    numbers.set(file, number);
    open.push(file);
    let lowest = number;
    for (const target of imports.get(file) ?? []) {
      if (!imports.has(target)) continue;
      if (!numbers.has(target)) lowest = Math.min(lowest, visit(target));
      else if (open.includes(target)) lowest = Math.min(lowest, numbers.get(target) ?? number);
    }
    if (lowest < number) return lowest;
    const group = open.splice(open.indexOf(file));
    if (group.length > 1) circles.push(group.sort());
    return Infinity;
  };
  for (const file of imports.keys()) if (!numbers.has(file)) visit(file);
  return circles;
}

const exportedValue = /^export (?:async )?(?:function\*?|class|const) (\w+)/gm;
const namedImport =
  /^(?:import|export)\s(?:type\s)?\s*(?:\{([^}]*)\}|\* as \w+)\s*from\s+'(\.[^']+)'|\bimport\('(\.[^']+)'\)/gm;

/**
 * Functions, classes and constants that a file exports and no file imports, as `FILE: NAME`. A file that is imported as
 * a whole counts as used. `exporters` holds the text of each file to check, `others` files that may import them.
 */
export function findUnusedExports(
  exporters: ReadonlyMap<string, string>,
  others: ReadonlyMap<string, string> = new Map(),
): string[] {
  const used = new Map<string, Set<string> | 'all'>();
  for (const [file, source] of [...exporters, ...others]) {
    for (const [, names, target, dynamic] of source.matchAll(namedImport)) {
      const from = path.posix.join(path.posix.dirname(file), target ?? dynamic ?? '');
      const known = used.get(from) ?? new Set();
      used.set(from, names === undefined || known === 'all' ? 'all' : known);
      if (known !== 'all') for (const [name] of (names ?? '').matchAll(/\w+/g)) known.add(name);
    }
  }
  return [...exporters].flatMap(([file, source]) => {
    const known = used.get(file);
    if (known === 'all') return [];
    return [...source.matchAll(exportedValue)].flatMap(([, name = '']) =>
      known?.has(name) === true ? [] : [`${file}: ${name}`],
    );
  });
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => path.join(entry.parentPath, entry.name));
}

if (import.meta.main) {
  const files = filesBelow('src');
  const sources = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));
  const findings = [...sources].flatMap(([file, source]) => checkFile(file, source));
  for (const [file, source] of sources)
    if (file.startsWith(COMPOSITION_ROOT) && !isTestCode(file))
      for (const name of strayFunctions(source))
        findings.push({ file, message: `${name} does not compose: it belongs in a feature or in loop/, with a test` });
  const others = new Map(['test', 'scripts'].flatMap(filesBelow).map((file) => [file, readFileSync(file, 'utf8')]));
  const written = new Map([...sources].filter(([file]) => !file.includes('/generated/')));
  const unused = findUnusedExports(written, new Map([...sources, ...others]));
  const circles = findCircles(new Map([...sources].map(([file, source]) => [file, targetsOf(file, source)])));
  for (const finding of findings) console.error(`${finding.file}: ${finding.message}`);
  for (const circle of circles) console.error(`these files import each other in a circle: ${circle.join(', ')}`);
  for (const each of unused) console.error(`${each} is exported, and no file imports it`);
  console.log(
    `layers: ${files.length} files, ${findings.length} wrong imports or functions, ${circles.length} circles, ${unused.length} unused exports`,
  );
  process.exitCode = findings.length + circles.length + unused.length === 0 ? 0 : 1;
}
