import { seededRandom } from '../../../../base/random.ts';
import type { Timer } from '../../../../base/clock.ts';
import { FakeClock } from '../../../../base/testing/fake-clock.ts';
import type { RecordingLog } from '../../../../base/testing/recording-log.ts';
import { recordingLog } from '../../../../base/testing/recording-log.ts';
import type { Container } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { Probe } from '../../../../api/core/probe.ts';
import { containerId, podUid, sandboxId } from '../../../model/ids.ts';
import type { ContainerState, PodRuntimeStatus } from '../../../model/runtime-status.ts';
import type { ExecResult } from '../../../ports/runtime.ts';
import type { ReadNodeLoad } from '../../../ports/node-load.ts';
import { answer, FakeNetDial } from '../../../ports/testing/fake-net-dial.ts';
import { ProbeManager } from '../probe-manager.ts';

export const uid = podUid('pod-1');

export const WEB = '10.0.0.7:80';

export const http: Probe = {
  httpGet: { path: '/ok', port: 80 },
  periodSeconds: 10,
  timeoutSeconds: 1,
  failureThreshold: 3,
};

export function podWith(container: Partial<Container>, extra: { hostNetwork?: boolean; sidecar?: boolean } = {}): Pod {
  const made: Container = { name: 'web', ...container };
  const spec =
    extra.sidecar === true
      ? { containers: [{ name: 'main' }], initContainers: [{ ...made, restartPolicy: 'Always' as const }] }
      : { containers: [made], hostNetwork: extra.hostNetwork };
  return { metadata: { name: 'p', namespace: 'default', uid }, spec };
}

/** A clock whose time can also jump while no timer fires, as with a blocked event loop. */
export class StallingClock extends FakeClock {
  #stallMs = 0;
  override monotonicMs(): number {
    return super.monotonicMs() + this.#stallMs;
  }
  override setTimer(delayMs: number, fire: () => void): Timer {
    return super.setTimer(delayMs, fire);
  }
  stall(byMs: number): void {
    this.#stallMs += byMs;
  }
}

export interface Bench {
  readonly clock: StallingClock;
  readonly dial: FakeNetDial;
  readonly log: RecordingLog;
  readonly manager: ProbeManager;
  readonly updates: string[];
  /** The snapshots, one after each change. */
  readonly saved: string[];
  readonly events: string[];
  readonly execs: { command: readonly string[]; timeoutMs: number }[];
  readonly exec: { run: () => Promise<ExecResult> };
  readonly see: (id: string, state?: ContainerState, startedAtMs?: number, ips?: string[]) => void;
}

export function bench(options: { clock?: StallingClock; nodeLoad?: ReadNodeLoad } = {}): Bench {
  const clock = options.clock ?? new StallingClock();
  const dial = new FakeNetDial(clock);
  const log = recordingLog();
  const updates: string[] = [];
  const events: string[] = [];
  const execs: Bench['execs'] = [];
  const exec: Bench['exec'] = {
    run: async () => ({ stdout: new Uint8Array(), stderr: new Uint8Array(), exitCode: 0 }),
  };
  const saved: string[] = [];
  const manager = new ProbeManager({
    clock,
    random: seededRandom(1),
    log,
    recorder: {
      event: (_pod, type, reason, message, container) => events.push(`${type} ${reason} ${container}: ${message}`),
    },
    runtime: {
      execSync: (_id, command, timeoutMs) => {
        execs.push({ command, timeoutMs });
        return exec.run();
      },
    },
    dial,
    nodeLoad: options.nodeLoad,
    hostIp: () => '192.0.2.1',
    onUpdate: ({ containerId: id, type, verdict }) => updates.push(`${id} ${type} ${verdict}`),
    onSnapshotChange: (entry) => saved.push('id' in entry ? `${entry.id} ${entry.verdict}` : 'complete since now'),
  });
  const see = (
    id: string,
    state: ContainerState = 'running',
    startedAtMs = clock.nowMs(),
    ips = ['10.0.0.7'],
  ): void => {
    const status: PodRuntimeStatus = {
      uid,
      name: 'p',
      namespace: 'default',
      sandboxes: [
        {
          id: sandboxId('s'),
          podUid: uid,
          podName: 'p',
          podNamespace: 'default',
          attempt: 0,
          ready: true,
          createdAtMs: 0,
          ips,
          hostNetwork: false,
          runtimeHandler: '',
          labels: {},
          annotations: {},
        },
      ],
      containers: [
        {
          id: containerId(id),
          sandboxId: sandboxId('s'),
          name: 'web',
          attempt: 0,
          state,
          createdAtMs: 0,
          startedAtMs,
          finishedAtMs: 0,
          exitCode: 0,
          reason: '',
          message: '',
          image: '',
          imageRef: '',
          imageId: '',
          logPath: '',
          labels: {},
          annotations: {},
        },
      ],
      observedAtMs: clock.monotonicMs(),
    };
    manager.noteStatus(status);
  };
  return { clock, dial, log, manager, updates, saved, events, execs, exec, see };
}

export const get = (made: Bench, type: 'liveness' | 'readiness' | 'startup', id = 'c1'): string | undefined =>
  made.manager.get(type, containerId(id));

export async function running(container: Partial<Container>): Promise<Bench> {
  const made = bench();
  made.dial.listen(WEB, { http: () => answer(200) });
  made.manager.addPod(podWith(container));
  made.see('c1');
  await made.clock.advance(20_000);
  return made;
}
