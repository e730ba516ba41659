/**
 * A process that only probes, so that its processor time is that of the probes. `agent` uses the agent's probe manager
 * and its connections; `floor` uses plain sockets, sends and counts. Prints the results as JSON.
 */
import { connect } from 'node:net';
import type { Probe } from '../../src/api/core/probe.ts';
import { systemClock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { netDial } from '../../src/kubelet/adapters/net/net-dial.ts';
import { readNodeLoad } from '../../src/kubelet/adapters/linux-node-load.ts';
import { createPinoLog } from '../../src/base/pino-log.ts';
import { ProbeManager } from '../../src/kubelet/features/probes/probe-manager.ts';
import { containerId, podUid, sandboxId } from '../../src/kubelet/model/ids.ts';
import { pause } from '../../src/up/processes.ts';

export interface HostOrder {
  readonly who: 'agent' | 'floor';
  readonly kind: 'http' | 'mix';
  readonly probes: number;
  readonly seconds: number;
  readonly ports: { http: number; tcp: number; grpc: number };
}

export interface HostResult {
  readonly cpuMs: number;
  readonly userMs: number;
  readonly elapsedMs: number;
  readonly done: number;
  readonly failed: number;
  /** The delay of each probe's start. */
  readonly late: { p50Ms: number; p99Ms: number; maxMs: number };
}

const SETTLE_MS = 3_000;
const FLOOR_TURN_MS = 25;

/** Of ten probes, seven use HTTP, two TCP, one gRPC. */
function probeOf(order: HostOrder, index: number): Probe {
  const { http, tcp, grpc } = order.ports;
  const numbers = { periodSeconds: 1, timeoutSeconds: 1, successThreshold: 1, failureThreshold: 3 };
  const turn = order.kind === 'http' ? 0 : index % 10;
  if (turn === 9) return { ...numbers, grpc: { port: grpc } };
  return turn >= 7
    ? { ...numbers, tcpSocket: { port: tcp } }
    : { ...numbers, httpGet: { path: '/healthz', port: http } };
}

interface Counts {
  done: number;
  failed: number;
}

/** Containers start over the first second, as on a node that was not started all at once. */
async function runAgent(order: HostOrder): Promise<{ counts: () => Counts; lates: () => number[] }> {
  let lates: number[] = [];
  const manager = new ProbeManager({
    clock: systemClock,
    random: systemRandom,
    log: createPinoLog({
      format: 'text',
      verbosity: 0,
      write: (line) => void process.stderr.write(line),
      nowMs: () => Date.now(),
      pid: process.pid,
      program: 'probes',
    }),
    recorder: { event: () => undefined },
    runtime: { execSync: () => Promise.reject(new Error('no exec probes here')) },
    dial: netDial,
    nodeLoad: () => readNodeLoad(),
    hostIp: () => '127.0.0.1',
    onUpdate: () => undefined,
    onProbe: (_type, _outcome, { lateMs }) => void lates.push(lateMs),
  });
  for (let index = 0; index < order.probes; index++) {
    const [uid, name] = [podUid(`pod-${index}`), `pod-${index}`];
    manager.addPod({
      metadata: { name, namespace: 'default', uid },
      spec: { containers: [{ name: 'main', livenessProbe: probeOf(order, index) }] },
    });
    const sandbox = {
      id: sandboxId(`s-${index}`),
      podUid: uid,
      podName: name,
      podNamespace: 'default',
      attempt: 0,
      ready: true,
      createdAtMs: 0,
      ips: ['127.0.0.1'],
      hostNetwork: false,
      runtimeHandler: '',
      labels: {},
      annotations: {},
    };
    const container = {
      id: containerId(`c-${index}`),
      sandboxId: sandbox.id,
      name: 'main',
      attempt: 0,
      state: 'running' as const,
      createdAtMs: 0,
      startedAtMs: Date.now(),
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
    };
    manager.noteStatus({
      uid,
      name,
      namespace: 'default',
      sandboxes: [sandbox],
      containers: [container],
      observedAtMs: systemClock.monotonicMs(),
    });
    await pause(1000 / order.probes);
  }
  return {
    counts: () => ({
      done: Object.values(manager.counters()).reduce((sum, each) => sum + each, 0),
      failed:
        order.probes === 0
          ? 0
          : manager.counters().failure +
            manager.counters().timeout +
            manager.counters().error +
            manager.counters().inconclusive,
    }),
    lates: () => {
      const taken = lates;
      lates = [];
      return taken;
    },
  };
}

/**
 * Sends the same bytes over the same kind of connection at the same rate, without gRPC, for which there is no plain
 * version.
 */
function runFloor(order: HostOrder): { counts: () => Counts; lates: () => number[] } {
  const counts: Counts = { done: 0, failed: 0 };
  const text = `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:${order.ports.http}\r\nUser-Agent: kube-probe/1.36\r\nAccept: */*\r\nConnection: close\r\n\r\n`;
  const startMs = performance.now();
  let sent = 0;
  setInterval(() => {
    const due = ((performance.now() - startMs) * order.probes) / 1000;
    for (; sent < due; sent++) {
      const isTcp = order.kind === 'mix' && sent % 10 >= 7;
      const socket = connect({ host: '127.0.0.1', port: isTcp ? order.ports.tcp : order.ports.http });
      const end = (): void => {
        counts.done++;
        socket.destroy();
      };
      socket.on('error', () => counts.failed++);
      if (isTcp) socket.on('connect', end);
      else socket.on('data', end).write(text, 'latin1');
    }
  }, FLOOR_TURN_MS);
  return { counts: () => ({ ...counts }), lates: () => [] };
}

const order = JSON.parse(process.argv[2] ?? '{}') as HostOrder;
const host = order.who === 'agent' ? await runAgent(order) : runFloor(order);
await pause(SETTLE_MS);
host.lates();
const before = { cpu: process.cpuUsage(), counts: host.counts(), atMs: performance.now() };
await pause(order.seconds * 1000);
const cpu = process.cpuUsage(before.cpu);
const counts = host.counts();
const late = host.lates().sort((left, right) => left - right);
const at = (share: number): number => late[Math.min(late.length - 1, Math.floor(late.length * share))] ?? 0;
const result: HostResult = {
  cpuMs: (cpu.user + cpu.system) / 1000,
  userMs: cpu.user / 1000,
  elapsedMs: performance.now() - before.atMs,
  done: counts.done - before.counts.done,
  failed: counts.failed - before.counts.failed,
  late: { p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) },
};
console.log(JSON.stringify(result));
process.exit();
