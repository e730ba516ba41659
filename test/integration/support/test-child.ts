// Programs that a test starts. One that is not stopped, because a hook failed before it, does not keep the file running.
import type { ChildProcess } from 'node:child_process';

const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** The program ends with this process, and does not keep it from ending. */
export function endWithThisProcess(child: ChildProcess): void {
  child.unref();
  children.add(child);
  child.once('exit', () => children.delete(child));
}
