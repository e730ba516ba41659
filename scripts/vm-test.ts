// npm run test:vm [-- FILE...]: integration tests that need cgroup v2 and systemd, in a virtual machine with Debian 12.
// It has no network. Outside of `npm test`: the disk is large, and without KVM the processor is emulated.
import { copyFileSync, existsSync, mkdirSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ensureImage, makeDisk, REPOSITORY_LABEL } from './vm-image.ts';
import type { Accelerator } from './vm-machine.ts';
import { chooseAccelerator, QEMU, runMachine } from './vm-machine.ts';
import { missingPrograms, runProgram } from './vm-program.ts';
import type { VmRun } from './vm-stages.ts';
import { defaultFiles, RUN_FILE } from './vm-stages.ts';

const root = path.resolve(import.meta.dirname, '..');
const USAGE = 'usage: npm run test:vm [-- FILE...]   each FILE is a test in test/integration';
const MINUTE_MS = 60_000;
const limitsMs: Readonly<Record<Accelerator, { bootMs: number; allMs: number }>> = {
  kvm: { bootMs: 3 * MINUTE_MS, allMs: 40 * MINUTE_MS },
  tcg: { bootMs: 20 * MINUTE_MS, allMs: 240 * MINUTE_MS },
};
const COPY_TIMEOUT_MS = 10 * MINUTE_MS;
/** What of the repository the tests read; `dist` is built for the machine. */
const copied = ['bin', 'src', 'scripts', 'test', 'package.json', 'package-lock.json', 'tsconfig.json', '.data'];
const DISK_SIZE = '4G';

const say = (text: string): void => console.log(`vm: ${text}`);

/** Paths in the repository, or what is wrong with them. */
export function testFiles(given: readonly string[], exists: (file: string) => boolean): readonly string[] | string {
  if (given.length === 0) return defaultFiles;
  const files = given.map((file) => path.relative(root, path.resolve(root, file)));
  const wrong = files.find((file) => !/^test\/integration\/.*\.test\.ts$/.test(file) || !exists(file));
  return wrong === undefined ? files : `${wrong} is not a test in test/integration`;
}

/** Folders of earlier runs whose process is gone. */
function removeStaleRuns(cache: string): void {
  for (const name of readdirSync(cache).filter((each) => /^run-\d+$/.test(each)))
    if (!existsSync(`/proc/${name.slice('run-'.length)}`)) rmSync(path.join(cache, name), { recursive: true });
}

/** The repository as it is, with node_modules and its programs built, as a disk. */
async function makeRepositoryDisk(scratch: string, run: VmRun, signal: AbortSignal): Promise<string> {
  const folder = path.join(scratch, 'repository');
  const modules = path.join(folder, 'node_modules');
  mkdirSync(modules, { recursive: true });
  const limits = { timeoutMs: COPY_TIMEOUT_MS, signal };
  const copy = (names: readonly string[], to: string): Promise<string> =>
    runProgram(['cp', '-a', '--reflink=auto', '-t', to, ...names], limits);
  await copy(
    copied.map((name) => path.join(root, name)).filter((each) => existsSync(each)),
    folder,
  );
  const from = realpathSync(path.join(root, 'node_modules'));
  const kept = readdirSync(from).filter((name) => name !== '.cache');
  await copy(
    kept.map((name) => path.join(from, name)),
    modules,
  );
  writeFileSync(path.join(folder, RUN_FILE), JSON.stringify(run));
  await runProgram([process.execPath, path.join(root, 'scripts/build.ts'), path.join(folder, 'dist')], limits);
  const disk = path.join(scratch, 'repository.img');
  await makeDisk(disk, folder, { label: REPOSITORY_LABEL, size: DISK_SIZE }, limits);
  return disk;
}

/** Everything in `scratch`, which the caller removes. */
async function runTests(
  files: readonly string[],
  cache: string,
  scratch: string,
  signal: AbortSignal,
): Promise<number> {
  const image = await ensureImage({ root, cache, scratch, say }, signal);
  const accelerator = await chooseAccelerator(image.kernel, signal);
  const isEmulated = accelerator === 'tcg';
  const driver = process.env['KUBELET_TEST_CGROUP_DRIVER'];
  const repository = await makeRepositoryDisk(scratch, { files, isEmulated, driver }, signal);
  say(
    isEmulated ? 'starting the machine; without KVM everything takes about ten times as long' : 'starting the machine',
  );
  const log = path.join(scratch, 'console.log');
  const machine = { image, repository, accelerator, console: log, result: path.join(scratch, 'result') };
  let code: number | undefined;
  try {
    code = await runMachine(machine, (text) => process.stdout.write(text), { ...limitsMs[accelerator], signal });
    return code;
  } finally {
    if (code !== 0 && existsSync(log)) {
      const kept = path.join(cache, 'console.log');
      copyFileSync(log, kept);
      say(`the machine's console: ${kept}`);
    }
  }
}

async function main(): Promise<number> {
  const files = testFiles(process.argv.slice(2), (file) => existsSync(path.join(root, file)));
  if (typeof files === 'string') {
    console.error(`${files}\n${USAGE}`);
    return 2;
  }
  const missing =
    process.platform !== 'linux' || process.arch !== 'x64'
      ? 'the machine is made for x86_64 Linux only'
      : process.geteuid?.() !== 0
        ? 'making the disk needs root: sudo npm run test:vm'
        : missingPrograms([QEMU, 'mmdebstrap', 'mke2fs', 'apt-get']);
  if (missing !== undefined) {
    console.error(`vm: ${missing}`);
    return 2;
  }
  const cache = path.join(realpathSync(path.join(root, 'node_modules')), '.cache/vm');
  const scratch = path.join(cache, `run-${process.pid}`);
  const stop = new AbortController();
  const onSignal = (): void => stop.abort(new Error('stopped by a signal'));
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  mkdirSync(scratch, { recursive: true });
  try {
    removeStaleRuns(cache);
    return await runTests(files, cache, scratch, stop.signal);
  } catch (error) {
    console.error(`vm: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

if (import.meta.main) process.exitCode = await main();
