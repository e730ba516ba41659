import type { ContainerIdentity, ContainerScript } from '../../src/kubelet/ports/testing/fake-runtime-script.ts';

export type ProbeType = 'liveness' | 'readiness' | 'startup';
export const probeTypes: readonly ProbeType[] = ['liveness', 'readiness', 'startup'];

/** The behaviour of a container. It is encoded in the container's arguments, so that manifests contain it. */
export interface Behaviour {
  readonly exitAfterMs?: number;
  readonly exitCode?: number;
  readonly oom?: boolean;
  /**
   * The behaviour above ends when the scenario heals: then the container runs until it is stopped, and a task ends
   * successfully.
   */
  readonly faulty?: boolean;
  readonly task?: boolean;
  readyAfterMs?: number;
  startedAfterMs?: number;
  /** The readiness probe fails in the second half of each period of this length. */
  readyFlapMs?: number;
  /** The liveness probe fails from this time on. */
  livenessFailsAfterMs?: number;
  /** Failing probes hang without an answer. */
  probesHang?: boolean;
  stopMs?: number;
  ignoresTerm?: boolean;
  failStart?: boolean;
}

/** The results of a container instance's probes so far, as the container saw them. */
export interface ProbeTally {
  passed: number;
  failedInRow: number;
  /** The start of the current series of failures. */
  firstFailedMs: number;
  firstPassedMs: number;
}

/** One run of a container. */
export interface Instance {
  readonly identity: ContainerIdentity;
  readonly behaviour: Behaviour;
  readonly tally: Record<ProbeType, ProbeTally>;
  /** In monotonic time, because the wall clock may change. */
  startedMs: number;
}

const noTally = (): ProbeTally => ({ passed: 0, failedInRow: 0, firstFailedMs: 0, firstPassedMs: 0 });

function behaviourOf(command: readonly string[]): Behaviour {
  const text = command[1];
  if (command[0] !== 'simulate' || text === undefined) return {};
  return JSON.parse(text) as Behaviour;
}

/** Whether a probe of this type succeeds at this time after the container's start. */
function passes(behaviour: Behaviour, type: ProbeType, sinceStartMs: number, healed: boolean): boolean {
  switch (type) {
    case 'liveness':
      return healed || behaviour.livenessFailsAfterMs === undefined || sinceStartMs < behaviour.livenessFailsAfterMs;
    case 'startup':
      return sinceStartMs >= (behaviour.startedAfterMs ?? 0);
    case 'readiness': {
      if (sinceStartMs < (behaviour.readyAfterMs ?? 0)) return false;
      const periodMs = behaviour.readyFlapMs;
      return healed || periodMs === undefined || sinceStartMs % periodMs < periodMs / 2;
    }
  }
}

/** All containers of a simulated node, with their behaviour. */
export class ContainerModel {
  readonly #byScript = new WeakMap<ContainerScript, Instance>();
  readonly #nowMs: () => number;
  /** Set when the scenario ends its faults. */
  healed = false;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  script(identity: ContainerIdentity): ContainerScript {
    const behaviour = behaviourOf(identity.command);
    const instance: Instance = {
      identity,
      behaviour,
      tally: { liveness: noTally(), readiness: noTally(), startup: noTally() },
      startedMs: 0,
    };
    const isCured = this.healed && behaviour.faulty === true;
    const exits = behaviour.exitAfterMs !== undefined && (!isCured || behaviour.task === true);
    const script: ContainerScript = {
      ...(exits
        ? {
            exitAfterMs: behaviour.exitAfterMs,
            exitCode: isCured ? 0 : (behaviour.exitCode ?? 0),
            oomKilled: !isCured && behaviour.oom === true,
          }
        : {}),
      ...(behaviour.failStart === true && !this.healed
        ? { failStart: 'failed to create shim task: exec: "simulate": executable file not found' }
        : {}),
      stopMs: behaviour.stopMs ?? 5,
      ignoresTerm: behaviour.ignoresTerm === true,
      exec: (command) => {
        const type = probeTypes.find((candidate) => candidate === command[1]);
        if (type === undefined) return { exitCode: 0 };
        const passed = this.probe(instance, type);
        return {
          exitCode: passed ? 0 : 1,
          stdout: passed ? 'ok' : 'not ok',
          afterMs: !passed && behaviour.probesHang === true ? Number.POSITIVE_INFINITY : 0,
        };
      },
    };
    this.#byScript.set(script, instance);
    return script;
  }

  noteStart(script: ContainerScript): void {
    const instance = this.#byScript.get(script);
    if (instance !== undefined) instance.startedMs = this.#nowMs();
  }

  instance(script: ContainerScript): Instance | undefined {
    return this.#byScript.get(script);
  }

  /** A probe of the container: returns the result and counts it. */
  probe(instance: Instance, type: ProbeType): boolean {
    const passed = passes(instance.behaviour, type, this.#nowMs() - instance.startedMs, this.healed);
    const tally = instance.tally[type];
    if (passed) {
      if (tally.passed++ === 0 || tally.failedInRow > 0) tally.firstPassedMs = this.#nowMs();
      tally.failedInRow = 0;
    } else this.noteFailure(instance, type);
    return passed;
  }

  noteFailure(instance: Instance, type: ProbeType): void {
    const tally = instance.tally[type];
    if (tally.failedInRow++ === 0) tally.firstFailedMs = this.#nowMs();
  }
}
