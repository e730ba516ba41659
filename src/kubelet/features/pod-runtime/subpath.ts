import { posix } from 'node:path';
import { KubeletError } from '../../../base/errors.ts';
import type { HostFiles } from '../../ports/host-files.ts';

const maxLinks = 40;

/**
 * The real host path of `subPath` inside a volume, with every symlink followed by hand and refused when it leads out of the volume
 * (CVE-2017-1002101). What is missing is created as directories with the volume's own mode.
 *
 * Weaker than upstream on purpose for now: between this check and the runtime's bind mount a container that can write to the volume
 * could swap a directory for a symlink (CVE-2021-25741). Closing that needs an open directory handle to bind, which is a later issue.
 * Rejects with `Invalid`, without details of the host's file system.
 */
export async function resolveSubPath(files: HostFiles, volumePath: string, subPath: string): Promise<string> {
  const refuse = (): KubeletError => new KubeletError('Invalid', `subPath "${subPath}" leads out of its volume`);
  const pending = subPath.split('/').filter((part) => part !== '' && part !== '.');
  let current = volumePath;
  let links = 0;
  let mode: number | undefined;
  for (let part = pending.shift(); part !== undefined; part = pending.shift()) {
    if (part === '..') {
      if (current === volumePath) throw refuse();
      current = posix.dirname(current);
      continue;
    }
    const next = posix.join(current, part);
    const info = await files.lstat(next);
    if (info === undefined) {
      mode ??= ((await files.stat(volumePath))?.mode ?? 0o750) & 0o7777;
      await files.makeDirectory(next, mode);
      current = next;
      continue;
    }
    if (info.type !== 'symlink') {
      current = next;
      continue;
    }
    if (++links > maxLinks) throw refuse();
    let target = await files.readLink(next);
    if (target.startsWith('/')) {
      // An absolute target is a path of the host: only one inside the volume is followed.
      const inside = posix.relative(volumePath, posix.normalize(target));
      if (inside === '..' || inside.startsWith('../')) throw refuse();
      target = inside;
      current = volumePath;
    }
    pending.unshift(...target.split('/').filter((piece) => piece !== '' && piece !== '.'));
  }
  return current;
}
