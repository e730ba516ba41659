import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A socket path in its own folder, which is removed by `after` (test contexts have it). */
export function tempSocket(context: { after(cleanUp: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'cri-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'cri.sock');
}
