// The programs that the tests run, bundled from the current sources so that they start quickly. They are built once for
// a whole stage of `npm test` (`--test-global-setup` names this file), otherwise once per test process.
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand } from '../../../src/up/commands.ts';
import { makeClusterTemplate } from './cluster-template.ts';

const repository = join(import.meta.dirname, '..', '..', '..');
/** The variable with the folder of the programs that a whole stage shares. */
const SHARED = 'KUBELET_TEST_BUILD';
/** `shipped`: programs start with the options that users get, as in the benchmark. */
const LAUNCHERS = 'KUBELET_TEST_LAUNCHERS';
let built: Promise<string> | undefined;

/** Before the first file of a stage. */
export async function globalSetup(): Promise<void> {
  built = process.env[SHARED] === undefined ? buildForStage() : undefined;
  process.env[SHARED] ??= await built;
}

/** After the last file of a stage. */
export async function globalTeardown(): Promise<void> {
  if (built !== undefined) rmSync(await built, { recursive: true, force: true });
}

export type Program =
  | 'kubelet'
  | 'kubelet-control-plane'
  | 'kubelet-node-network'
  | 'kubelet-node-storage'
  | 'dockershim'
  | 'fake-nodes'
  | 'kubelet-scheduler';

/** The path of a program in a folder that is removed when the tests end. */
export async function builtProgram(name: Program): Promise<string> {
  return join(await programs(), 'bin', name);
}

/** The arguments for node that run `up` as `npm run up` does. */
export async function builtUp(): Promise<readonly string[]> {
  return [
    '--no-concurrent-sparkplug',
    '--disable-warning=ExperimentalWarning',
    join(await programs(), 'dist', 'up.js'),
  ];
}

/** The folder from which the folder of a control plane is copied, if the stage created one (`copyClusterTemplate`). */
export async function clusterTemplate(): Promise<string> {
  return templateIn(await programs());
}

const templateIn = (home: string): string => join(home, 'cluster');

async function buildForStage(): Promise<string> {
  const home = await build();
  await makeClusterTemplate(join(home, 'bin', 'kubelet-control-plane'), templateIn(home));
  return home;
}

function programs(): Promise<string> {
  const shared = process.env[SHARED];
  return (built ??= shared === undefined ? buildForProcess() : Promise.resolve(shared));
}

async function buildForProcess(): Promise<string> {
  const home = await build();
  process.on('exit', () => rmSync(home, { recursive: true, force: true }));
  return home;
}

/**
 * Tests start hundreds of programs that live for seconds. With these options V8 rejects Node's precompiled code for its
 * own modules, which costs a tenth of each start. The options save some MB, which tests do not check.
 */
const REJECTING_OPTIONS = / --(optimize-for-size|heap-growing-percent=\d+)/g;

/**
 * The programs also share their compiled code, which the first process of each program writes when it ends: a control
 * plane then starts with a seventh less processor time. It cannot be set in the environment, because programs are
 * started without Node's variables.
 */
function compileForSpeed(launcher: string, compiledCode: string): void {
  const shipped = readFileSync(launcher, 'utf8');
  const start = /^exec .*"\$node".* "\$main"/m;
  // A plugin of kubectl only names another launcher.
  if (!shipped.includes('"$main"')) return;
  if (!start.test(shipped)) throw new Error(`${launcher} starts Node in a way that is not known here`);
  const quick = shipped
    .replaceAll(REJECTING_OPTIONS, '')
    .replace(start, `export NODE_COMPILE_CACHE='${compiledCode}'\n$&`);
  writeFileSync(launcher, quick);
}

async function build(): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'kts-program-'));
  cpSync(join(repository, 'bin'), join(home, 'bin'), { recursive: true });
  if (process.env[LAUNCHERS] !== 'shipped')
    for (const name of readdirSync(join(home, 'bin'))) compileForSpeed(join(home, 'bin', name), join(home, 'compiled'));
  // Beside what is built, `up` reads the example and what images are made of.
  for (const name of ['node_modules', 'package.json', 'src', '.data'].filter((each) =>
    existsSync(join(repository, each)),
  ))
    symlinkSync(join(repository, name), join(home, name));
  await runCommand([process.execPath, join(repository, 'scripts', 'build.ts'), join(home, 'dist')]);
  return home;
}
