/**
 * Writes POSIX ustar archives in memory. The same entries always give the same bytes: that is what makes image digests
 * reproducible.
 */
import { KubeletError } from '../../base/errors.ts';

const BLOCK = 512;

/** One entry. `path` has no leading slash; `mode` is the permission bits; owner defaults to root. */
export type TarEntry = { path: string; uid?: number; gid?: number } & (
  | { kind: 'file'; content: Uint8Array | string; mode?: number }
  | { kind: 'directory'; mode?: number }
  | { kind: 'symlink'; target: string }
);

/** All entries in the order given, with two zero blocks at the end. Times are 0. */
export function writeTar(entries: readonly TarEntry[]): Buffer {
  const parts: Buffer[] = [];
  for (const entry of entries) {
    const content = entry.kind === 'file' ? Buffer.from(entry.content) : Buffer.alloc(0);
    parts.push(header(entry, content.length), content);
    const rest = content.length % BLOCK;
    if (rest > 0) parts.push(Buffer.alloc(BLOCK - rest));
  }
  parts.push(Buffer.alloc(2 * BLOCK));
  return Buffer.concat(parts);
}

function header(entry: TarEntry, size: number): Buffer {
  const block = Buffer.alloc(BLOCK);
  const { name, prefix } = splitPath(
    entry.kind === 'directory' && !entry.path.endsWith('/') ? `${entry.path}/` : entry.path,
  );
  block.write(name, 0, 'utf8');
  octal(block, entry.kind === 'symlink' ? 0o777 : (entry.mode ?? (entry.kind === 'directory' ? 0o755 : 0o644)), 100, 8);
  octal(block, entry.uid ?? 0, 108, 8);
  octal(block, entry.gid ?? 0, 116, 8);
  octal(block, size, 124, 12);
  octal(block, 0, 136, 12);
  block.write({ file: '0', symlink: '2', directory: '5' }[entry.kind], 156);
  if (entry.kind === 'symlink') {
    if (Buffer.byteLength(entry.target) > 100)
      throw new KubeletError('Invalid', `link target too long for tar: ${entry.target}`);
    block.write(entry.target, 157, 'utf8');
  }
  block.write('ustar\u000000', 257);
  block.write(prefix, 345, 'utf8');
  // The checksum is taken over the header with its own field read as eight spaces.
  block.fill(0x20, 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\u0000 `, 148);
  return block;
}

function octal(block: Buffer, value: number, offset: number, width: number): void {
  const text = value.toString(8).padStart(width - 1, '0');
  if (text.length > width - 1) throw new KubeletError('Invalid', `number too large for tar: ${value}`);
  block.write(text, offset);
}

/** ustar holds 100 bytes of name and 155 of prefix, cut at a slash. */
function splitPath(path: string): { name: string; prefix: string } {
  if (Buffer.byteLength(path) <= 100) return { name: path, prefix: '' };
  for (let cut = path.indexOf('/'); cut > 0; cut = path.indexOf('/', cut + 1)) {
    const prefix = path.slice(0, cut);
    const name = path.slice(cut + 1);
    if (name !== '' && Buffer.byteLength(name) <= 100 && Buffer.byteLength(prefix) <= 155) return { name, prefix };
  }
  throw new KubeletError('Invalid', `path too long for tar: ${path}`);
}
