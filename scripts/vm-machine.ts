// Starts the virtual machine of `npm run test:vm` in QEMU and follows it to its end.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import type { VmImage } from './vm-image.ts';
import { OUTPUT_PORT, RESULT_PORT, ROOT_LABEL } from './vm-image.ts';

export const QEMU = 'qemu-system-x86_64';
const MEMORY = '3G';
const PROCESSORS = 2;

export type Accelerator = 'kvm' | 'tcg';

export interface VmMachine {
  readonly image: VmImage;
  /** The disk with the repository. */
  readonly repository: string;
  /** Where the kernel and systemd write, and where the exit code of the tests is written. */
  readonly console: string;
  readonly result: string;
  readonly accelerator: Accelerator;
}

/** QEMU reads commas as separators unless they are doubled. */
const file = (path: string): string => path.replaceAll(',', ',,');

const processor = (accelerator: Accelerator): string[] =>
  accelerator === 'kvm' ? ['-accel', 'kvm', '-cpu', 'host'] : ['-accel', 'tcg,thread=multi', '-cpu', 'max'];

/** Nothing that the arguments do not name, and no network. */
const bare = ['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot', '-nic', 'none', '-machine', 'q35'];

/** What the tests print goes to QEMU's standard output. The disk of the cache stays as it is. */
export function qemuArguments({ image, repository, console, result, accelerator }: VmMachine): string[] {
  return [
    ...bare,
    ...processor(accelerator),
    ...['-m', MEMORY, '-smp', String(PROCESSORS)],
    ...['-kernel', image.kernel, '-initrd', image.initrd],
    ...['-append', `root=LABEL=${ROOT_LABEL} rw console=ttyS0 panic=-1`],
    ...['-serial', `file:${console}`],
    ...['-drive', `file=${file(image.disk)},format=raw,if=virtio,snapshot=on`],
    ...['-drive', `file=${file(repository)},format=raw,if=virtio,cache=unsafe`],
    ...['-device', 'virtio-rng-pci', '-device', 'virtio-serial-pci'],
    ...['-chardev', `stdio,id=${OUTPUT_PORT},signal=off`, '-device', port(OUTPUT_PORT)],
    ...['-chardev', `file,id=${RESULT_PORT},path=${file(result)}`, '-device', port(RESULT_PORT)],
  ];
}

const port = (name: string): string => `virtserialport,chardev=${name},name=${name}`;

/** A kernel without a disk: it comes as far as its panic where the accelerator works. */
export function probeArguments(kernel: string): string[] {
  return [
    ...bare,
    ...processor('kvm'),
    ...['-m', '256M', '-serial', 'stdio', '-kernel', kernel, '-append', 'console=ttyS0 panic=-1'],
  ];
}

const PROBE_TIMEOUT_MS = 20_000;

/**
 * KVM where it can run a kernel, else emulation. That /dev/kvm is there and opens says little: in a virtual machine it
 * may accept only kernels that were made for it.
 */
export function chooseAccelerator(kernel: string, signal: AbortSignal): Promise<Accelerator> {
  if (!existsSync('/dev/kvm')) return Promise.resolve('tcg');
  return new Promise((resolve, reject) => {
    const child = spawn(QEMU, probeArguments(kernel), {
      stdio: ['ignore', 'pipe', 'ignore'],
      signal: AbortSignal.any([signal, AbortSignal.timeout(PROBE_TIMEOUT_MS)]),
      killSignal: 'SIGKILL',
    });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (cameUp(output)) child.kill('SIGKILL');
    });
    child.on('error', (error) => {
      if (child.pid === undefined) reject(error);
    });
    child.on('close', () => (signal.aborted ? reject(stopped(signal)) : resolve(cameUp(output) ? 'kvm' : 'tcg')));
  });
}

const cameUp = (output: string): boolean => output.includes('Kernel panic - not syncing: VFS');

export interface VmLimits {
  /** From the start until the tests print something. */
  readonly bootMs: number;
  /** From the start to the end. */
  readonly allMs: number;
  readonly signal: AbortSignal;
}

const stopped = (signal: AbortSignal): Error =>
  signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason));

/**
 * Runs the machine until it switches itself off. Returns the exit code of the tests. A machine that does not start, hangs
 * or ends without that code is an error.
 */
export async function runMachine(
  machine: VmMachine,
  onOutput: (text: string) => void,
  { bootMs, allMs, signal }: VmLimits,
): Promise<number> {
  const limit = new AbortController();
  const end = (why: string): void => limit.abort(new Error(why));
  const boot = setTimeout(() => end(`the machine did not start within ${bootMs / 60_000} minutes`), bootMs);
  const all = setTimeout(() => end(`the machine did not end within ${allMs / 60_000} minutes`), allMs);
  const either = AbortSignal.any([signal, limit.signal]);
  try {
    await new Promise<void>((resolve, reject) => {
      // Its standard input stays open: at its end QEMU would tell the machine that the other side reads no more.
      const child = spawn(QEMU, qemuArguments(machine), {
        stdio: ['pipe', 'pipe', 'pipe'],
        signal: either,
        killSignal: 'SIGKILL',
      });
      let errors = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        clearTimeout(boot);
        onOutput(text);
      });
      child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
      child.on('error', (error) => {
        if (child.pid === undefined) reject(error);
      });
      child.on('close', (code, killedBy) => {
        if (either.aborted) reject(stopped(either));
        else if (code === 0) resolve();
        else reject(new Error(`${QEMU} ended with ${code ?? killedBy}: ${errors.trim().slice(-2000)}`));
      });
    });
  } finally {
    clearTimeout(boot);
    clearTimeout(all);
  }
  const code = parseResult(existsSync(machine.result) ? readFileSync(machine.result, 'utf8') : '');
  if (code === undefined) throw new Error('the machine ended before the tests did');
  return code;
}

/** The exit code of the tests, if they ended. */
export function parseResult(text: string): number | undefined {
  return /^\d+\n$/.test(text) ? Number(text) : undefined;
}
