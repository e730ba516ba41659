/** Keeps the agent running in the foreground and shows the state of its pods. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { systemClock } from '../base/clock.ts';
import { errorMessage } from '../base/errors.ts';
import { expectedPods, startAgent } from './agent.ts';
import { getCauses, getPods, watchPods } from './agent-client.ts';
import { lastLines } from './containerd.ts';
import type { Instance } from './instance.ts';
import { DEFAULT_DATA_DIR } from './instance.ts';
import type { NodePageFacts } from './node-page.ts';
import { pause } from './processes.ts';
import type { ProgressRow } from './progress.ts';
import { allSettled, computeRows, renderChanges, renderTable } from './progress.ts';
import type { CgroupDriver } from './runtime-config.ts';
import type { RuntimeHandlers } from './runtime-handlers.ts';

export interface UpOptions {
  /** A runtime given from outside; absent means our own. */
  readonly endpoint: string | undefined;
  readonly detach: boolean;
  readonly runtimeOnly: boolean;
  readonly cgroupDriver: CgroupDriver;
  readonly runtimeHandlers: RuntimeHandlers;
}

export interface WatchOptions extends UpOptions {
  readonly endpoint: string;
  readonly healthzPort: number;
  readonly page: NodePageFacts;
  /** The options by which `bin/kubelet` finds this instance: empty for the default one. */
  readonly rootFlag: string;
}

const DETACH_TIMEOUT_MS = 180_000;
const RECONNECT_MS = 50;
/** An exit sooner than this after a start counts as quick; too many quick exits in a row end the restarts. */
const HEALTHY_LIFE_MS = 10_000;
const MAX_QUICK_DEATHS = 3;

/** Runs until `signal` aborts (or, detached, until all is ready). `keep` decides whether the programs keep running. */
export async function watchAgent(
  instance: Instance,
  options: WatchOptions,
  signal: AbortSignal,
): Promise<{ keep: boolean; code: number }> {
  const view = new ProgressView(instance, process.stdout.isTTY);
  const over = new AbortController();
  signal.addEventListener('abort', () => over.abort(), { once: true });
  let outcome = { keep: false, code: 0 };
  let child: ChildProcess | undefined;
  const finish = (result: { keep: boolean; code: number }): void => {
    if (!over.signal.aborted) outcome = result;
    over.abort();
  };
  const onReady = (): void => {
    sayWhatNext(instance, options);
    if (options.detach) finish({ keep: true, code: 0 });
  };
  const giveUp = options.detach
    ? systemClock.setTimer(DETACH_TIMEOUT_MS, () => {
        console.error(
          `not all pods were ready within ${DETACH_TIMEOUT_MS / 1000} s; the agent keeps trying: bin/kubelet explain${options.rootFlag}`,
        );
        finish({ keep: true, code: 1 });
      })
    : undefined;
  const supervision = superviseAgent(instance, options, over.signal, (started) => (child = started)).catch(
    (error: unknown) => {
      console.error(errorMessage(error));
      finish({ keep: false, code: 1 });
    },
  );
  while (!over.signal.aborted) {
    await view.follow(over.signal, onReady);
    if (!over.signal.aborted) await pause(RECONNECT_MS);
  }
  giveUp?.cancel();
  await supervision;
  child?.unref();
  return outcome;
}

/**
 * Starts the agent, and restarts it when it dies; its pods keep running. Throws when it repeatedly dies soon after its
 * start.
 */
async function superviseAgent(
  instance: Instance,
  options: WatchOptions,
  signal: AbortSignal,
  onStart: (child: ChildProcess) => void,
): Promise<void> {
  for (let quickDeaths = 0; !signal.aborted; ) {
    const startMs = systemClock.monotonicMs();
    const child = startAgent(instance, { runtimeEndpoint: options.endpoint, extraArgs: options.page.args });
    onStart(child);
    const ended = await Promise.race([
      once(child, 'exit').then(
        ([code, name]: unknown[]) => `exit ${String(code ?? name)}`,
        (error: unknown) => errorMessage(error),
      ),
      aborted(signal),
    ]);
    if (ended === undefined) return;
    quickDeaths = systemClock.monotonicMs() - startMs < HEALTHY_LIFE_MS ? quickDeaths + 1 : 0;
    console.error(
      `the agent ended unexpectedly (${ended}); the end of its log ${instance.kubeletLog}:\n${lastLines(instance.kubeletLog, 10)}`,
    );
    if (quickDeaths >= MAX_QUICK_DEATHS) throw new Error('giving up: the agent ends immediately after each start');
    console.error('restarting it (pods are not affected)');
  }
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}

/** On a terminal, the table, redrawn in place until all is ready. Elsewhere, and afterwards, one line per change. */
class ProgressView {
  readonly #instance: Instance;
  readonly #redraw: boolean;
  readonly #startMs = systemClock.monotonicMs();
  #rows: ProgressRow[] = [];
  #drawnLines = 0;
  #wasReady = false;
  #reading = false;
  #again = false;

  constructor(instance: Instance, redraw: boolean) {
    this.#instance = instance;
    this.#redraw = redraw;
  }

  /** Shows every change while the agent's socket lasts. */
  async follow(signal: AbortSignal, onReady: () => void): Promise<void> {
    await watchPods(this.#instance.kubeletSocket, () => void this.#refresh(onReady), signal);
  }

  /** Changes that arrive during a reading cause one more reading. */
  async #refresh(onReady: () => void): Promise<void> {
    this.#again = this.#reading;
    if (this.#reading) return;
    this.#reading = true;
    try {
      do {
        this.#again = false;
        const socket = this.#instance.kubeletSocket;
        const [pods, causes] = await Promise.all([getPods(socket), getCauses(socket)]);
        this.#show(computeRows(expectedPods(this.#instance), pods, causes));
      } while (this.#again);
      if (!this.#wasReady && allSettled(this.#rows)) {
        this.#wasReady = true;
        console.log(
          `all ${this.#rows.length} pods are ready after ${((systemClock.monotonicMs() - this.#startMs) / 1000).toFixed(1)} s`,
        );
        onReady();
      }
    } catch {
      return; // The agent ended between two answers. The watch also ends, and is opened again.
    } finally {
      this.#reading = false;
    }
  }

  #show(rows: ProgressRow[]): void {
    const changes = renderChanges(this.#rows, rows);
    this.#rows = rows;
    if (changes.length === 0) return;
    if (!this.#redraw || this.#wasReady) {
      changes.forEach((line) => console.log(line));
      return;
    }
    const lines = renderTable(rows);
    const up = this.#drawnLines > 0 ? `\u001b[${this.#drawnLines}A\u001b[J` : '';
    process.stdout.write(`${up}${lines.join('\n')}\n`);
    this.#drawnLines = lines.length;
  }
}

function sayWhatNext(instance: Instance, options: WatchOptions): void {
  const flag = options.rootFlag;
  const down = instance.dataDir === DEFAULT_DATA_DIR ? 'npm run down' : `npm run down -- --data ${instance.dataDir}`;
  console.log(`
Try next (in another terminal):
  bin/kubelet pods${flag}
  bin/kubelet explain probes${flag}          why is a pod not settled?
  bin/kubelet logs${flag} -f sidecar -c log-reader
  bin/kubelet exec${flag} probes -- rm /www/ready     makes the pod unready
  edit, add or remove files in ${instance.manifestsDir}
  curl http://127.0.0.1:${options.healthzPort}/healthz
  open ${options.page.url} in a browser; the token is in ${options.page.tokenFile}
The agent's log: ${instance.kubeletLog}
${options.detach ? `Stop with: ${down}` : `Ctrl-C stops and removes everything (or: ${down})`}`);
}
