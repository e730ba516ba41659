/** Runtimes beside runc, which pods choose by a RuntimeClass: `up --runtime-handler gvisor=/usr/bin/runsc`. */
import { accessSync, constants, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, isAbsolute, join } from 'node:path';
import { stringify } from 'yaml';
import type { RuntimeClass } from '../api/node/runtime-class.ts';
import { checkDnsLabel } from '../api/validation/names.ts';
import { KubeletError } from '../base/errors.ts';
import type { Instance } from './instance.ts';

/** Absolute paths of programs with runc's command line, by the name of the handler and of its RuntimeClass. */
export type RuntimeHandlers = Readonly<Record<string, string>>;

/** The handler of pods without a class. */
const DEFAULT_HANDLER = 'runc';
const packagesOfPrograms: ReadonlyMap<string, string> = new Map([
  ['runsc', 'runsc'],
  ['crun', 'crun'],
]);

/** Parses the values of the flag; a string is the error message. */
export function parseRuntimeHandlers(values: readonly string[]): RuntimeHandlers | string {
  const handlers = new Map<string, string>();
  for (const value of values) {
    const [, name = '', program = ''] = /^([^=]*)=(.*)$/s.exec(value) ?? [];
    const flag = `--runtime-handler ${value}`;
    if (name === '' || program === '') return `${flag}: write NAME=PROGRAM, such as gvisor=/usr/bin/runsc`;
    const [complaint] = checkDnsLabel(name);
    if (complaint !== undefined) return `${flag}: "${name}" cannot be the name of a handler: ${complaint}`;
    if (name === DEFAULT_HANDLER || handlers.has(name)) return `${flag}: there is a handler "${name}" already`;
    if (!isAbsolute(program)) return `${flag}: "${program}" is not an absolute path`;
    handlers.set(name, program);
  }
  return Object.fromEntries(handlers);
}

/** Throws `Invalid` for a program that cannot be started. containerd would report it only with the first pod. */
export function checkRuntimeHandlers(handlers: RuntimeHandlers): void {
  for (const [name, program] of Object.entries(handlers)) {
    const why = whyNotStartable(program);
    if (why === undefined) continue;
    const debian = packagesOfPrograms.get(basename(program));
    throw new KubeletError(
      'Invalid',
      `--runtime-handler ${name}=${program}: ${program} ${why}${debian === undefined ? '' : ` (Debian: apt-get install ${debian})`}`,
    );
  }
}

function whyNotStartable(program: string): string | undefined {
  if (!existsSync(program)) return 'does not exist: install it, or correct the path';
  if (!statSync(program).isFile()) return 'is not a file: name the program itself';
  try {
    accessSync(program, constants.X_OK);
    return undefined;
  } catch {
    return 'is not executable: chmod it';
  }
}

/**
 * One class for each handler, with the same name. It has no overhead, because the usage of a sandbox depends on its
 * pods.
 */
export const runtimeClassesOf = (handlers: RuntimeHandlers): RuntimeClass[] =>
  Object.keys(handlers).map((name) => ({ metadata: { name, namespace: '', uid: '' }, handler: name }));

/** A file beside the manifests of a standalone node. An existing class is not changed. */
export function writeRuntimeClasses({ manifestsDir }: Pick<Instance, 'manifestsDir'>, handlers: RuntimeHandlers): void {
  for (const { metadata, handler } of runtimeClassesOf(handlers)) {
    const file = join(manifestsDir, `runtime-class-${metadata.name}.yaml`);
    if (existsSync(file)) continue;
    mkdirSync(manifestsDir, { recursive: true });
    const object = {
      apiVersion: 'node.k8s.io/v1',
      kind: 'RuntimeClass',
      metadata: { name: metadata.name },
      handler,
    };
    writeFileSync(file, stringify(object));
  }
}
