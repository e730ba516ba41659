import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import { createLoop, type Loop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { NetDial } from '../../ports/net-dial.ts';
import { computeFileVersion, nothing, type FileVersion } from './file-version.ts';
import { manifestLimitBytes, readManifest, type ManifestProblem, type ManifestRules } from './manifest-reader.ts';
import type { ObjectStore } from './object-store.ts';
import { ProblemBook } from './problem-book.ts';

/** Of the whole exchange (upstream: config/http.go). */
const EXCHANGE_LIMIT_MS = 10_000;

export interface HttpSourceOptions {
  url: string;
  headers: readonly { name: string; value: string }[];
  /** httpCheckFrequency. */
  periodMs: number;
  rules: ManifestRules;
  dial: Pick<NetDial, 'fetch'>;
  clock: Clock;
  random: Random;
  log: Logger;
  /** Where other objects than pods go; standalone only. */
  objects?: ObjectStore;
  setPods: (pods: readonly Pod[]) => void;
}

/**
 * Pods from a URL: one Pod or a list of them. An unchanged body is ignored. A failure, or a faulty body, keeps what was there; it is said
 * once, not each period. Nothing is reported before the first answer, so an unreachable server costs no running pod.
 */
export class HttpSource {
  readonly #options: HttpSourceOptions;
  readonly #book: ProblemBook;
  readonly #loop: Loop;
  #body: string | undefined;
  #version: FileVersion = nothing;
  #reported = false;

  constructor(options: HttpSourceOptions) {
    this.#options = options;
    this.#book = new ProblemBook(options.log);
    const { clock, random, log } = options;
    this.#loop = createLoop({
      name: 'manifest URL',
      clock,
      random,
      log,
      periodMs: options.periodMs,
      pass: () => this.#pass(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  problems(): readonly ManifestProblem[] {
    return this.#book.list();
  }

  async #pass(): Promise<void> {
    const { url } = this.#options;
    let body: string;
    try {
      body = await this.#fetch();
    } catch (error) {
      this.#book.set('exchange', [{ file: url, message: `cannot be read: ${errorMessage(error)}` }]);
      return;
    }
    if (body.length === 0) {
      this.#book.set('exchange', [{ file: url, message: 'zero-length data received' }]);
      this.#body = undefined;
      return this.#take(nothing);
    }
    this.#book.set('exchange', []);
    if (body === this.#body) return;
    this.#body = body;
    const content = readManifest(body, { kind: 'http', url }, this.#options.rules);
    this.#book.set('content', [...content.errors, ...content.warnings]);
    // Of a faulty answer nothing is used, not even its faultless part, as upstream has it.
    if (content.errors.length > 0) return;
    this.#take(computeFileVersion(this.#version, content));
  }

  async #fetch(): Promise<string> {
    const { dial, url, headers } = this.#options;
    const answer = await dial.fetch(url, headers, { timeoutMs: EXCHANGE_LIMIT_MS, limitBytes: manifestLimitBytes });
    if (answer.status !== 200)
      throw new KubeletError('Unavailable', `HTTP status ${answer.status}`, { op: 'read manifests' });
    return answer.body;
  }

  #take(version: FileVersion): void {
    if (this.#reported && version === this.#version) return;
    this.#version = version;
    this.#reported = true;
    this.#options.objects?.replace('http', version.objects);
    this.#options.setPods(version.pods);
  }
}
