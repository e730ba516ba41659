import { KubeletError } from '../../../base/errors.ts';

/** The decision of a hook about a pod. The agent calls the hook again when one of the `watch` paths changes. */
export type HookAnswer =
  | { kind: 'admit' }
  | { kind: 'reject'; reason: string; message: string }
  | { kind: 'hold'; why: string; watch: readonly string[]; retryAfterMs?: number };

/** EX_TEMPFAIL of sysexits. A script holds a pod if it exits with this code and prints one line with the reason. */
const TEMPORARY_FAILURE = 75;
const MAX_RETRY_SECONDS = 3600;

/**
 * Reads the answer of a hook. Exit code 0 without output admits the pod, and 75 holds it. With exit code 0, a JSON
 * object on standard output is the complete answer. All other results are failures of the hook: the function throws
 * `Invalid` with the cause.
 */
export function readHookAnswer({
  exitCode,
  stdout,
  stderr,
}: {
  exitCode: number;
  stdout: string;
  stderr: string;
}): HookAnswer {
  if (exitCode === TEMPORARY_FAILURE)
    return {
      kind: 'hold',
      why: firstLine(stdout) ?? firstLine(stderr) ?? 'the hook holds the pod and gives no reason',
      watch: [],
    };
  if (exitCode !== 0) throw invalid(`exit code ${exitCode}${said(stderr)}`);
  if (stdout.trim() === '') return { kind: 'admit' };
  const answer = parse(stdout);
  switch (answer['decision']) {
    case 'admit':
      return { kind: 'admit' };
    case 'reject':
      return {
        kind: 'reject',
        reason: oneWord(answer['reason']),
        message: textOf(answer['message']) ?? 'rejected by an admission hook of this node',
      };
    case 'hold':
      return holdOf(answer);
    default:
      throw invalid(`"decision" must be admit, reject or hold, not ${JSON.stringify(answer['decision'])}`);
  }
}

function holdOf(answer: Readonly<Record<string, unknown>>): HookAnswer {
  const { watch = [], retryAfterSeconds: seconds } = answer;
  if (!Array.isArray(watch) || !watch.every((path) => typeof path === 'string' && path.startsWith('/')))
    throw invalid('"watch" must be a list of absolute paths');
  if (seconds !== undefined && (typeof seconds !== 'number' || !(seconds > 0) || seconds > MAX_RETRY_SECONDS))
    throw invalid(`"retryAfterSeconds" must be a number above 0 and at most ${MAX_RETRY_SECONDS}`);
  const hold: HookAnswer = {
    kind: 'hold',
    why: textOf(answer['message']) ?? 'the hook holds the pod and gives no reason',
    watch: watch as string[],
  };
  return typeof seconds === 'number' ? { ...hold, retryAfterMs: seconds * 1000 } : hold;
}

function parse(stdout: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(stdout);
  } catch {
    throw invalid(`its output is not JSON: ${stdout.slice(0, 100).trim()}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid('its output is not a JSON object');
  return value as Readonly<Record<string, unknown>>;
}

/** Converts a reason to one CamelCase word, as events and statuses require. */
function oneWord(reason: unknown): string {
  return typeof reason === 'string' && /^[A-Za-z][A-Za-z0-9_,:]*$/.test(reason) ? reason : 'AdmissionHookRejected';
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : undefined;

function firstLine(text: string): string | undefined {
  return textOf(text.trim().split('\n')[0]);
}

function said(stderr: string): string {
  const line = firstLine(stderr);
  return line === undefined ? '' : `: ${line}`;
}

const invalid = (message: string): KubeletError => new KubeletError('Invalid', message, { op: 'admission hook' });
