import { Buffer } from 'node:buffer';
import { mkdir, open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import { logEndOf } from '../plan/log-lines.ts';
import type { LogEnd } from '../plan/log-lines.ts';
import type { LogFiles } from '../shim/container-logs.ts';

/** Long enough for several lines of the maximum length. */
const TAIL_BYTES = 128 * 1024;
const TAIL_GROWTH = 8;
/** All pieces of a line have the same time stamp. Longer lines are not read back to their beginning. */
const MOST_TAIL_BYTES = 64 * 1024 * 1024;

/** Log files of containers, readable only by root, as containerd creates them. */
export const logFiles: LogFiles = {
  open: async (file) => {
    await mkdir(path.dirname(file), { recursive: true });
    const handle = await open(file, 'a+', 0o640);
    try {
      const end = await readEnd(handle);
      return {
        end,
        file: {
          append: async (lines) => void (await handle.appendFile(Buffer.concat(lines))),
          close: () => handle.close(),
        },
      };
    } catch (error) {
      await handle.close();
      throw error;
    }
  },
};

/** Reads as much of the file's end as has the time of the last line. */
async function readEnd(handle: FileHandle): Promise<LogEnd | undefined> {
  const { size } = await handle.stat();
  for (let bytes = TAIL_BYTES; ; bytes *= TAIL_GROWTH) {
    const tail = await readTail(handle, size, bytes);
    const end = logEndOf(tail);
    const isAll = bytes >= size || bytes >= MOST_TAIL_BYTES;
    if (isAll || (end !== undefined && !tail.startsWith(end.time))) return end;
  }
}

/** The last complete lines. An incomplete last line is cut off the file. */
async function readTail(handle: FileHandle, size: number, bytes: number): Promise<string> {
  const start = Math.max(0, size - bytes);
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - start), 0, size - start, start);
  const whole = buffer.lastIndexOf('\n', bytesRead - 1) + 1;
  if (bytesRead > 0 && whole > 0 && whole < bytesRead) await handle.truncate(start + whole);
  const first = start === 0 ? 0 : buffer.indexOf('\n') + 1;
  return buffer.toString('utf8', first, whole);
}
