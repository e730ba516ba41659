import { createHash } from 'node:crypto';

/** Reads one file of the page by its name. */
export type ReadAsset = (name: string) => Promise<Uint8Array<ArrayBuffer>>;

export interface PageAsset {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly type: string;
  /** The value of the `ETag` header. */
  readonly tag: string;
}

const SCRIPT = 'text/javascript; charset=utf-8';
const STYLE = 'text/css; charset=utf-8';
const HTML = 'text/html; charset=utf-8';

/** Every file of the page with its type. Other files cannot be requested. */
export const assetTypes: ReadonlyMap<string, string> = new Map([
  ['page.html', HTML],
  ['login.html', HTML],
  ['page.css', STYLE],
  ['icon.svg', 'image/svg+xml'],
  ['page.js', SCRIPT],
  ['feed.js', SCRIPT],
  ['store.js', SCRIPT],
  ['format.js', SCRIPT],
  ['dom.js', SCRIPT],
  ['charts.js', SCRIPT],
  ['resource-charts.js', SCRIPT],
  ['meter.js', SCRIPT],
  ['tabs.js', SCRIPT],
  ['node-view.js', SCRIPT],
  ['pods-view.js', SCRIPT],
  ['pod-charts.js', SCRIPT],
  ['pod-view.js', SCRIPT],
  ['logs-view.js', SCRIPT],
  ['eviction-view.js', SCRIPT],
  ['managers-view.js', SCRIPT],
  ['uPlot.esm.js', SCRIPT],
  ['uPlot.min.css', STYLE],
]);

/** Reads the files of the page when they are first requested. */
export class PageAssets {
  readonly #read: ReadAsset;
  readonly #kept = new Map<string, Promise<PageAsset>>();

  constructor(read: ReadAsset) {
    this.#read = read;
  }

  /** Returns a file; undefined if it does not belong to the page. Rejects if it cannot be read. */
  get(name: string): Promise<PageAsset> | undefined {
    const type = assetTypes.get(name);
    if (type === undefined) return undefined;
    const kept = this.#kept.get(name);
    if (kept !== undefined) return kept;
    const reading = this.#load(name, type);
    this.#kept.set(name, reading);
    reading.catch(() => this.#kept.delete(name));
    return reading;
  }

  async #load(name: string, type: string): Promise<PageAsset> {
    const bytes = await this.#read(name);
    return { bytes, type, tag: `"${createHash('sha256').update(bytes).digest('base64url')}"` };
  }
}
