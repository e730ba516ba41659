import { closeSync, constants, openSync, readSync } from 'node:fs';
import { Socket } from 'node:net';
import { errnoOf, errorMessage, KubeletError } from '../../base/errors.ts';
import type { KernelLog, KernelLogHandlers, KernelMessage } from '../ports/kernel-log.ts';
import { KERNEL_TEXT_LIMIT } from '../ports/kernel-log.ts';

/** The size of the buffer. The kernel refuses to read a record into a smaller one (CONSOLE_EXT_LOG_MAX). */
const RECORD_LIMIT_BYTES = 8192;
/** The number of records that are read before other work gets a turn. */
const RECORDS_A_TURN = 200;
/** The number of records that are skipped in one turn, about 5 µs each. */
const RECORDS_SKIPPED_A_TURN = 5000;
/** The interval of reads if the descriptor cannot be waited for. */
const READ_PERIOD_MS = 1000;

/**
 * Reads /dev/kmsg, where one read returns one record. Node cannot wait for a character device, so the descriptor is
 * given to libuv as a stream, which uses the kernel's poll. If that is refused, the log is read each second.
 */
export class LinuxKernelLog implements KernelLog {
  readonly #path: string;
  readonly #stream: (fd: number) => Socket | undefined;

  constructor(path = '/dev/kmsg', stream: (fd: number) => Socket | undefined = pollableStream) {
    this.#path = path;
    this.#stream = stream;
  }

  follow(handlers: KernelLogHandlers, { sinceBoot } = { sinceBoot: false }): () => void {
    const fd = this.#open();
    const onOld = sinceBoot ? (record: string) => passOld(record, handlers) : () => undefined;
    let stop = (): void => closeSync(fd);
    // A log of usual size is skipped in one turn. A very large one is skipped in several turns, and what is written
    // meanwhile counts as written before.
    const turn = (): void => {
      if (skipRecords(fd, onOld)) stop = this.#follow(fd, handlers);
      else {
        const next = setImmediate(() => {
          try {
            turn();
          } catch (error) {
            closeSync(fd);
            handlers.onEnd(errorMessage(error));
          }
        });
        stop = () => {
          clearImmediate(next);
          closeSync(fd);
        };
      }
    };
    try {
      turn();
    } catch (error) {
      closeSync(fd);
      throw new KubeletError('Unavailable', `read ${this.#path}: ${errorMessage(error)}`, {
        op: 'follow',
        cause: error,
      });
    }
    return () => stop();
  }

  #follow(fd: number, handlers: KernelLogHandlers): () => void {
    const stream = this.#stream(fd);
    return stream === undefined ? readPeriodically(fd, handlers) : readStream(stream, handlers);
  }

  #open(): number {
    try {
      return openSync(this.#path, constants.O_RDONLY | constants.O_NONBLOCK);
    } catch (error) {
      throw new KubeletError('Unavailable', `open ${this.#path}: ${errorMessage(error)}`, {
        op: 'follow',
        cause: error,
      });
    }
  }
}

/**
 * Parses `6,1234,567890,-;text` with optional lines ` KEY=value` after it; undefined for other texts. The first number
 * has the facility above three bits of severity. Facility 0 is the kernel's, and programs cannot use it.
 */
export function parseKernelRecord(record: string): KernelMessage | undefined {
  const header = /^(\d{1,10}),(\d{1,16}),\d+,[^;]{0,200};/.exec(record);
  if (header === null) return undefined;
  const [prefix, priority, sequence] = header;
  const [text = ''] = record.slice(prefix.length, prefix.length + KERNEL_TEXT_LIMIT).split('\n', 1);
  return { sequence: Number(sequence), byKernel: Number(priority) < 8, text };
}

/** Skips records. Returns whether the end of the log is reached. */
function skipRecords(fd: number, onRecord: (record: string) => void): boolean {
  const buffer = Buffer.allocUnsafe(RECORD_LIMIT_BYTES);
  for (let count = 0; count < RECORDS_SKIPPED_A_TURN; count++) {
    const record = readRecord(fd, buffer);
    if (record === undefined) return true;
    onRecord(record);
  }
  return false;
}

function passOld(record: string, { onMessage }: KernelLogHandlers): void {
  const message = parseKernelRecord(record);
  if (message !== undefined) onMessage({ ...message, isOld: true });
}

/** Reads a record; undefined at the end, and '' for a record that was overwritten (EPIPE) or is too long (EINVAL). */
function readRecord(fd: number, buffer: Buffer): string | undefined {
  try {
    const length = readSync(fd, buffer);
    return length === 0 ? undefined : buffer.toString('latin1', 0, length);
  } catch (error) {
    const errno = errnoOf(error);
    if (errno === 'EAGAIN') return undefined;
    if (errno === 'EPIPE' || errno === 'EINVAL') return '';
    throw error;
  }
}

function readStream(stream: Socket, { onMessage, onLost, onEnd }: KernelLogHandlers): () => void {
  let isStopped = false;
  const end = (reason: string): void => {
    if (isStopped) return;
    isStopped = true;
    stream.destroy();
    onEnd(reason);
  };
  stream.on('data', (record: Buffer) => {
    const message = parseKernelRecord(record.toString('latin1'));
    if (message !== undefined && !isStopped) onMessage(message);
  });
  stream.on('error', (error) => {
    // EPIPE means that the kernel overwrote unread records. The log is opened again at its end.
    if (errnoOf(error) === 'EPIPE' && !isStopped) onLost();
    end(errorMessage(error));
  });
  stream.on('end', () => end('the log ended'));
  stream.unref();
  return () => {
    isStopped = true;
    stream.destroy();
  };
}

function readPeriodically(fd: number, { onMessage, onLost, onEnd }: KernelLogHandlers): () => void {
  const buffer = Buffer.allocUnsafe(RECORD_LIMIT_BYTES);
  const stop = (): void => {
    clearInterval(timer);
    closeSync(fd);
  };
  const timer = setInterval(() => {
    try {
      for (let count = 0; count < RECORDS_A_TURN; count++) {
        const record = readRecord(fd, buffer);
        if (record === undefined) return;
        const message = parseKernelRecord(record);
        if (message === undefined) onLost();
        else onMessage(message);
      }
    } catch (error) {
      stop();
      onEnd(errorMessage(error));
    }
  }, READ_PERIOD_MS);
  timer.unref();
  return stop;
}

interface PipeHandle {
  open(fd: number): number;
  close(): void;
}

/**
 * Creates a stream; undefined if Node does not support it. libuv can wait for any descriptor with poll, but
 * `net.Socket` accepts only pipes and sockets. The handle below it makes no such distinction.
 */
function pollableStream(fd: number): Socket | undefined {
  try {
    const binding = (process as unknown as { binding?: (name: string) => unknown }).binding?.('pipe_wrap') as
      | { Pipe: new (kind: number) => PipeHandle; constants: { SOCKET: number } }
      | undefined;
    if (binding === undefined) return undefined;
    const handle = new binding.Pipe(binding.constants.SOCKET);
    if (handle.open(fd) !== 0) return undefined;
    return new Socket({ handle, readable: true, writable: false } as unknown as ConstructorParameters<
      typeof Socket
    >[0]);
  } catch {
    return undefined;
  }
}
