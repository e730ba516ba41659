import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

/** The build copies all files of the page beside the bundle. */
const isBundled = !import.meta.url.endsWith('.ts');
const bundled = new URL('./page/', import.meta.url);
const own = new URL('../../features/page/assets/', import.meta.url);
const uPlot = new URL('../../../../node_modules/uplot/dist/', import.meta.url);

/** Reads a file of the page by a name of its own list. Names from clients do not reach the file system. */
export function readPageAsset(name: string): Promise<Uint8Array<ArrayBuffer>> {
  const folder = isBundled ? bundled : name.startsWith('uPlot.') ? uPlot : own;
  return readFile(fileURLToPath(new URL(name, folder)));
}
