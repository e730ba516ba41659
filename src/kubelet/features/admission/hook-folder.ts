import type { Clock } from '../../../base/clock.ts';
import { withDeadline } from '../../../base/clock.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { Processes } from '../../ports/processes.ts';
import type { AdmissionAnswer, AdmissionRequest, AdmissionStep } from './admission-step.ts';
import type { HookAnswer } from './hook-answer.ts';
import { readHookAnswer } from './hook-answer.ts';

export interface HookFolderOptions {
  readonly folder: string;
  readonly timeoutMs: number;
  /** What happens to the pod when a hook fails, hangs or gives an invalid answer. */
  readonly onFailure: 'hold' | 'ignore';
  readonly files: Pick<HostFiles, 'list' | 'stat' | 'watch'>;
  readonly processes: Processes;
  readonly clock: Clock;
}

const OUTPUT_LIMIT_BYTES = 64 * 1024;
/**
 * The maximum number of concurrent programs, so that a node that starts with a hundred pods does not start a hundred
 * programs.
 */
const AT_ONCE = 4;
const OWNER_MAY_RUN = 0o100;
const OTHERS_MAY_WRITE = 0o022;

/**
 * Creates the step that runs an operator's programs. The programs of the folder run in the order of their names. Each
 * gets the pod on standard input and answers whether it may start. The folder is read at each call. See
 * docs/admission.md.
 */
export function createHookStep(options: HookFolderOptions): AdmissionStep {
  const turns = new Turns(AT_ONCE);
  return {
    name: 'admission hooks',
    // Each program has its own deadline. This one is only for a folder on a disk that does not respond.
    timeoutMs: 24 * 3600 * 1000,
    onFailure: options.onFailure,
    admit: async (request, signal) => {
      for (const hook of await hooksOf(options)) {
        const answer = await turns.run(signal, () => ask(options, hook, request));
        if (signal.aborted) return { kind: 'admit' };
        if (answer.kind !== 'admit') return answer.kind === 'reject' ? answer : held(options, { hook, answer }, signal);
      }
      return { kind: 'admit' };
    },
  };
}

async function hooksOf({ folder, files, clock, timeoutMs }: HookFolderOptions): Promise<string[]> {
  const read = async (): Promise<string[]> => {
    // A folder that is missing, or not mounted yet, must not admit everything.
    if ((await files.stat(folder))?.type !== 'directory')
      throw new KubeletError('NotFound', `${folder} does not exist or is not a folder`);
    const hooks: string[] = [];
    for (const name of await files.list(folder)) {
      if (name.startsWith('.') || name.endsWith('~')) continue;
      const info = await files.stat(`${folder}/${name}`);
      if (info?.type !== 'file' || (info.mode & OWNER_MAY_RUN) === 0) continue;
      if ((info.mode & OTHERS_MAY_WRITE) !== 0)
        throw new KubeletError('Invalid', `${folder}/${name} is not run: it is writable by its group or by others`);
      hooks.push(name);
    }
    return hooks;
  };
  return withDeadline({ clock, limitMs: timeoutMs, op: `read ${folder}` }, read);
}

async function ask(options: HookFolderOptions, hook: string, request: AdmissionRequest): Promise<HookAnswer> {
  const { folder, processes, timeoutMs, onFailure } = options;
  try {
    const { namespace, name, uid } = request.pod.metadata;
    const env = { POD_NAME: name, POD_NAMESPACE: namespace, POD_UID: uid, NODE_NAME: request.node.metadata.name };
    const result = await processes.run(`${folder}/${hook}`, [], {
      stdin: questionText(request),
      env,
      timeoutMs,
      outputLimitBytes: OUTPUT_LIMIT_BYTES,
      cwd: folder,
    });
    return readHookAnswer(result);
  } catch (error) {
    return onFailure === 'ignore'
      ? { kind: 'admit' }
      : { kind: 'hold', why: `failed: ${errorMessage(error)}`, watch: [] };
  }
}

function questionText({ pod, node, attempt, sinceMs }: AdmissionRequest): string {
  const body = {
    apiVersion: 'admission.kubelet-ts/v1',
    kind: 'PodAdmission',
    request: { pod, node, attempt, waitingSince: new Date(sinceMs).toISOString() },
  };
  return `${JSON.stringify(body)}\n`;
}

/** Holds the pod until the pause ends or one of the paths that the hook named changes. */
function held(
  { files }: HookFolderOptions,
  { hook, answer }: { hook: string; answer: HookAnswer & { kind: 'hold' } },
  signal: AbortSignal,
): AdmissionAnswer {
  const why = `${hook}: ${answer.why}`;
  const retry = answer.retryAfterMs === undefined ? {} : { retryAfterMs: answer.retryAfterMs };
  if (answer.watch.length === 0) return { kind: 'hold', why, ...retry };
  return {
    kind: 'hold',
    why,
    retryAfterMs: answer.retryAfterMs ?? WATCHED_RETRY_MS,
    until: firstChange(files, answer.watch, signal),
  };
}

/** The retry interval while paths are watched. It finds a file that appeared between the hook's check and the watch. */
const WATCHED_RETRY_MS = 5000;

function firstChange(files: HookFolderOptions['files'], paths: readonly string[], signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const stops: (() => void)[] = [];
    const end = (): void => {
      stops.forEach((stop) => stop());
      resolve();
    };
    for (const path of paths) {
      const slash = path.lastIndexOf('/');
      const wanted = path.slice(slash + 1);
      // A folder that does not exist yet cannot be watched. The next call checks it again.
      stops.push(
        files.watch(path.slice(0, slash) || '/', {
          onChange: (name) => void (name === undefined || name === wanted ? end() : undefined),
          onLost: () => undefined,
        }),
      );
    }
    signal.addEventListener('abort', end, { once: true });
  });
}

/** Limits the number of concurrent programs, in the order of arrival. */
class Turns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(places: number) {
    this.#free = places;
  }

  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      signal.throwIfAborted();
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
