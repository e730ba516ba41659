// A separate process for file work that takes long or may hang in the kernel. linux-file-work.ts starts it with one
// request, and it ends with one result.
import { spawnSync } from 'node:child_process';
import { KubeletError } from '../../../base/errors.ts';
import { bindBeneath } from './linux-bind-beneath.ts';
import { fromErrno } from '../linux-errors.ts';
import { blockingFdOps } from './linux-fd-ops.ts';
import type { FileAnswer, FileRequest } from './linux-file-work.ts';
import { giveTreeToGroup } from './linux-group-ownership.ts';
import { childEnvironment } from '../process/linux-killable.ts';
import { removeTree } from './linux-remove-tree.ts';

const PROGRESS_EVERY_MS = 1000;

function say(line: FileAnswer | { progress: number }): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

/** Returns a function that counts entries. The clock is read once per thousand entries. */
function progressReporter(): () => void {
  let entries = 0;
  let reportedMs = Date.now();
  return () => {
    entries++;
    if (entries % 1000 !== 0 || Date.now() - reportedMs < PROGRESS_EVERY_MS) return;
    reportedMs = Date.now();
    say({ progress: entries });
  };
}

async function run(program: string, args: readonly string[]): Promise<void> {
  const { status, stderr } = spawnSync(program, args, { encoding: 'utf8', env: childEnvironment });
  if (status !== 0)
    throw new KubeletError('Unavailable', `${program}: ${stderr.trim() || `exit status ${status}`}`, {
      op: 'bindBeneath',
    });
}

async function answer(request: FileRequest): Promise<FileAnswer> {
  switch (request.op) {
    case 'giveToGroup': {
      const outcome = await giveTreeToGroup(blockingFdOps, request.path, {
        gid: request.gid,
        readOnly: request.readOnly,
        onEntry: progressReporter(),
      });
      return { op: request.op, outcome: outcome === 'large' ? { entries: 0, refused: 0 } : outcome };
    }
    case 'removeTree':
      await removeTree(blockingFdOps, request.path, { onEntry: progressReporter() });
      return { op: request.op };
    case 'bindBeneath': {
      const tools = {
        ops: blockingFdOps,
        bindDescriptor: (source: string, target: string) =>
          run('mount', ['-n', '-i', '--no-canonicalize', '-o', 'bind', '--', source, target]),
        unmount: (target: string) => run('umount', ['-n', '-i', '-c', '--', target]),
      };
      return { op: request.op, result: await bindBeneath(request.mount, tools) };
    }
  }
}

const request = JSON.parse(process.argv[2] ?? '') as FileRequest;
try {
  say(await answer(request));
} catch (error) {
  const { kind, message } = fromErrno(
    error,
    request.op,
    request.op === 'bindBeneath' ? request.mount.root : request.path,
  );
  say({ op: 'failed', kind, message });
}
