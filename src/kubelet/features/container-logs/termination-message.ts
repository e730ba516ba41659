import { Buffer } from 'node:buffer';
import { errorMessage, isKind } from '../../../base/errors.ts';
import { runtimeAnnotations } from '../../../api/annotations.ts';
import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import type { LogFiles } from '../../ports/log-files.ts';
import { detectFormat, parseLine } from './log-parse.ts';

/** The limits (upstream: MaxContainerTerminationMessageLength, …LogLength, …LogLines). */
const MESSAGE_BYTES = 4096;
const LOG_BYTES = 2048;
const LOG_LINES = 80;
/** The number of bytes to read. Each line of a log has about forty additional bytes. */
const LOG_READ_BYTES = LOG_BYTES + LOG_LINES * 64;

export interface TerminationMessageParts {
  readonly logFiles: LogFiles;
  /**
   * The root directory contains the container's message file, and the log directory its log. Other paths that the
   * runtime reports are not read.
   */
  readonly rootDir: string;
  readonly podLogsDir: string;
}

/**
 * Reads the termination message of a container: the end of its message file, or of its log if the container requests
 * that, failed, and wrote no message. It follows the runtime's own message, if there is one (upstream:
 * kuberuntime_container.go convertToKubeContainerStatus).
 */
export async function readTerminationMessage(
  parts: TerminationMessageParts,
  status: ContainerRuntimeStatus,
): Promise<string> {
  if (status.state !== 'exited') return status.message;
  const said = await ownWords(parts, status);
  if (said === '') return status.message;
  return status.message === '' ? said : `${status.message}: ${said}`;
}

async function ownWords(
  { logFiles, rootDir, podLogsDir }: TerminationMessageParts,
  { annotations, exitCode, logPath, mounts }: ContainerRuntimeStatus,
): Promise<string> {
  const path = annotations[runtimeAnnotations.terminationMessagePath] ?? '';
  const file = path === '' ? undefined : mounts?.find((mount) => mount.containerPath === path)?.hostPath;
  const fromFile =
    file === undefined
      ? ''
      : await textOrError(`termination log ${file}`, async () =>
          (await readEnd(logFiles, { path: file, beneath: rootDir, bytes: MESSAGE_BYTES })).toString('utf8'),
        );
  const wantsLog =
    annotations[runtimeAnnotations.terminationMessagePolicy] === 'FallbackToLogsOnError' && exitCode !== 0;
  if (fromFile !== '' || !wantsLog || logPath === '') return fromFile;
  return textOrError('termination message from logs', async () =>
    lastLines(await readEnd(logFiles, { path: logPath, beneath: podLogsDir, bytes: LOG_READ_BYTES })),
  );
}

async function readEnd(
  logFiles: LogFiles,
  { path, beneath, bytes }: { path: string; beneath: string; bytes: number },
): Promise<Buffer> {
  const file = await logFiles.open(path, beneath);
  try {
    const size = await file.sizeBytes();
    return Buffer.from(await file.read(Math.max(0, size - bytes), bytes));
  } finally {
    await file.close();
  }
}

/**
 * Returns the text of the last lines of both streams, without the runtime's prefixes. A truncated first line cannot be
 * parsed and is skipped.
 */
function lastLines(end: Buffer): string {
  const lines: Buffer[] = [];
  for (let start = 0; start < end.length; ) {
    const newline = end.indexOf(0x0a, start);
    const stop = newline < 0 ? end.length : newline + 1;
    lines.push(end.subarray(start, stop));
    start = stop;
  }
  const printed = lines.slice(-LOG_LINES).flatMap((line) => {
    const format = detectFormat(line);
    const entry = format === undefined ? undefined : parseLine(format, line);
    return entry === undefined ? [] : [Buffer.from(entry.content)];
  });
  return Buffer.concat(printed).subarray(-LOG_BYTES).toString('utf8');
}

/** Returns the message, or the error if it cannot be read. A missing message is empty. */
async function textOrError(what: string, read: () => Promise<string>): Promise<string> {
  try {
    return await read();
  } catch (error) {
    return isKind(error, 'NotFound') ? '' : `Error on reading ${what}: ${errorMessage(error)}`;
  }
}
