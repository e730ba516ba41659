import { readFileSync } from 'node:fs';
import { SourceMap } from 'node:module';
import type { LoggingConfig } from '../model/config/kubelet-config.ts';
import { computeModuleLevels, frameOf } from './log-modules.ts';

/** The maximum number of stack frames between the statement that logs and this file. */
const DEEPEST_FRAME = 4;
const own = /\/(?:log-callers|pino-log)\.[jt]s$/;

/**
 * Whether the statement that logs is in a file for which `--vmodule` sets at least this level; undefined without
 * patterns. Each call costs a stack trace, about 10 µs. In a bundle, the names of the files come from its source map,
 * if there is one.
 */
export function callerIsVerbose(vmodule: LoggingConfig['vmodule']): ((level: number) => boolean) | undefined {
  if (vmodule.length === 0) return undefined;
  const levelOf = computeModuleLevels(vmodule);
  const highest = Math.max(...vmodule.map(({ verbosity }) => verbosity));
  const maps = new Map<string, SourceMap | undefined>();
  return (level) => {
    if (level > highest) return false;
    const file = callerFile(maps);
    return file !== undefined && (levelOf(file) ?? -1) >= level;
  };
}

function callerFile(maps: Map<string, SourceMap | undefined>): string | undefined {
  for (const line of stackLines()) {
    const frame = frameOf(line);
    if (frame === undefined) continue;
    if (!maps.has(frame.file)) maps.set(frame.file, sourceMapOf(frame.file));
    const entry = maps.get(frame.file)?.findEntry(frame.line - 1, frame.column - 1);
    const file = entry !== undefined && 'originalSource' in entry ? entry.originalSource : frame.file;
    if (!own.test(file)) return file;
  }
  return undefined;
}

function stackLines(): string[] {
  const before = Error.stackTraceLimit;
  Error.stackTraceLimit = DEEPEST_FRAME + 4;
  const { stack = '' } = new Error();
  Error.stackTraceLimit = before;
  return stack.split('\n').slice(1);
}

/** Reads the source map of a file; undefined if it has none. */
function sourceMapOf(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8')) as ConstructorParameters<typeof SourceMap>[0]);
  } catch {
    return undefined;
  }
}
