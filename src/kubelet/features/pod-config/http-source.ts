import { errorMessage, KubeletError } from '../../../base/errors.ts';
import { shownUrl } from '../../../base/shown-url.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { NetDial } from '../../ports/net-dial.ts';
import type { FileVersion } from './file-version.ts';
import { computeFileVersion, nothing } from './file-version.ts';
import type { ManifestProblem, ManifestRules } from './manifest-reader.ts';
import { MANIFEST_LIMIT_BYTES, readManifest } from './manifest-reader.ts';
import type { ManifestObjects } from './manifest-objects.ts';
import { ManifestProblems } from './manifest-problems.ts';

/** The time limit of the whole request (upstream: config/http.go). */
const EXCHANGE_LIMIT_MS = 10_000;

export interface HttpSourceOptions {
  readonly url: string;
  readonly headers: readonly { name: string; value: string }[];
  /** The field httpCheckFrequency. */
  readonly periodMs: number;
  readonly rules: ManifestRules;
  readonly dial: Pick<NetDial, 'fetch'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Receives objects other than pods, on a standalone node only. */
  readonly objects?: ManifestObjects;
  readonly setPods: (pods: readonly Pod[]) => void;
}

/**
 * Reads pods from a URL: one Pod or a list of them. An unchanged body is ignored. A failure or an invalid body keeps
 * the previous state, and is logged once and not in each period. Nothing is reported before the first response, so an
 * unreachable server ends no running pod.
 */
export class HttpSource {
  readonly #options: HttpSourceOptions;
  readonly #manifestProblems: ManifestProblems;
  readonly #loop: Loop;
  #body: string | undefined;
  #version: FileVersion = nothing;
  #reported = false;

  constructor(options: HttpSourceOptions) {
    this.#options = options;
    this.#manifestProblems = new ManifestProblems(options.log);
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
    return this.#manifestProblems.list();
  }

  async #pass(): Promise<void> {
    const { url } = this.#options;
    let body: string;
    try {
      body = await this.#fetch();
    } catch (error) {
      this.#manifestProblems.set('exchange', [
        { file: shownUrl(url), message: `cannot be read: ${errorMessage(error)}` },
      ]);
      return;
    }
    if (body.length === 0) {
      this.#manifestProblems.set('exchange', [{ file: shownUrl(url), message: 'zero-length data received' }]);
      this.#body = undefined;
      return this.#take(nothing);
    }
    this.#manifestProblems.set('exchange', []);
    if (body === this.#body) return;
    this.#body = body;
    const content = readManifest(body, { kind: 'http', url }, this.#options.rules);
    this.#manifestProblems.set('content', [...content.errors, ...content.warnings]);
    // Of an invalid response nothing is used, not even its valid part, as in upstream.
    if (content.errors.length > 0) return;
    this.#take(computeFileVersion(this.#version, content));
  }

  async #fetch(): Promise<string> {
    const { dial, url, headers } = this.#options;
    const answer = await dial.fetch(url, headers, { timeoutMs: EXCHANGE_LIMIT_MS, limitBytes: MANIFEST_LIMIT_BYTES });
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
