/** Entry of the thread with a measured control plane. It reports how long each of its turns took. */
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import v8 from 'node:v8';
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { composeControlPlane } from '../../../src/control-plane/cmd/compose/compose-control-plane.ts';
import { parseCommandLine } from '../../../src/control-plane/cmd/flags/parse-command-line.ts';

export interface Measurement {
  /**
   * The longest time without other events: the delay of the event loop, or, on a busy machine, the part of it in which
   * this thread worked.
   */
  readonly heldMs: number;
  /** The total processor time of this thread. */
  readonly workMs: number;
  /** The maximum increase of the used heap after a collection. */
  readonly heapBytes: number;
}

const delays = monitorEventLoopDelay({ resolution: 1 });
const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
};

class Meter {
  #isOn = false;
  #beganMs = 0;
  #lastMs = 0;
  #longestMs = 0;
  #heapBefore = 0;
  #collections = new v8.GCProfiler();

  begin(): void {
    this.#collections = new v8.GCProfiler();
    this.#collections.start();
    this.#heapBefore = v8.getHeapStatistics().used_heap_size;
    delays.reset();
    delays.enable();
    this.#isOn = true;
    this.#longestMs = 0;
    this.#beganMs = this.#lastMs = cpuMs();
    setImmediate(() => this.#turn());
  }

  end(): Measurement {
    this.#isOn = false;
    delays.disable();
    const collections = this.#collections.stop()?.statistics ?? [];
    const largest = Math.max(
      this.#heapBefore,
      ...collections.map(({ afterGC }) => afterGC.heapStatistics.usedHeapSize),
    );
    return {
      heldMs: Math.min(delays.max / 1e6, this.#longestMs),
      workMs: cpuMs() - this.#beganMs,
      heapBytes: largest - this.#heapBefore,
    };
  }

  #turn(): void {
    if (!this.#isOn) return;
    const nowMs = cpuMs();
    this.#longestMs = Math.max(this.#longestMs, nowMs - this.#lastMs);
    this.#lastMs = nowMs;
    setImmediate(() => this.#turn());
  }
}

const parsed = parseCommandLine(workerData as readonly string[]);
if (parsed.kind !== 'run') throw new Error(JSON.stringify(parsed));
const controlPlane = await composeControlPlane(parsed.line.options, {
  clock: systemClock,
  random: systemRandom,
  log: silentLogger,
});
await controlPlane.start();
const meter = new Meter();
parentPort?.on('message', (asked: 'begin' | 'end' | 'stop') => {
  if (asked === 'begin') meter.begin();
  if (asked !== 'stop') parentPort?.postMessage(asked === 'begin' ? performance.now() : meter.end());
  else void controlPlane.stop().then(() => process.exit(0));
});
parentPort?.postMessage('started');
