import type { LoggingConfig } from '../model/config/kubelet-config.ts';

export interface LogOutputParts {
  readonly config: Pick<LoggingConfig, 'splitStream' | 'infoBufferBytes' | 'flushPeriodMs'>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Calls `run` once after this time, without keeping the process alive. */
  readonly later: (run: () => void, delayMs: number) => void;
}

export interface LogOutput {
  write(line: string, isError: boolean): void;
  /** Writes the buffered lines. */
  flush(): void;
}

/**
 * Writes the lines of the log. Without split streams, all lines go to stderr, unbuffered. With them, errors go to
 * stderr immediately. Other lines go to stdout through a buffer of `infoBufferBytes`, which is written when it is full
 * and at the latest after `flushPeriodMs` (upstream: component-base/logs, options splitStream and infoBufferSize).
 */
export function createLogOutput({ config, out, err, later }: LogOutputParts): LogOutput {
  if (!config.splitStream) return { write: err, flush: () => undefined };
  let lines: string[] = [];
  let sizeBytes = 0;
  const flush = (): void => {
    if (sizeBytes === 0) return;
    const text = lines.join('');
    lines = [];
    sizeBytes = 0;
    out(text);
  };
  return {
    write: (line, isError) => {
      if (isError) return err(line);
      const lineBytes = Buffer.byteLength(line);
      if (sizeBytes + lineBytes > config.infoBufferBytes) flush();
      if (lineBytes > config.infoBufferBytes) return out(line);
      if (sizeBytes === 0) later(flush, config.flushPeriodMs);
      lines.push(line);
      sizeBytes += lineBytes;
    },
    flush,
  };
}
