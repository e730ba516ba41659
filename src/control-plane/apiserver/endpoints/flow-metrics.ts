import { Counter, Gauge, Histogram } from 'prom-client';
import type { Registry as MetricRegistry } from 'prom-client';
import type { FlowName, FlowObserver, LevelState, RejectReason } from '../limits/priority-and-fairness.ts';
import type { Exchange } from '../path/exchange.ts';

export interface FlowMetricsOptions {
  readonly registry: MetricRegistry;
  readonly states: () => readonly LevelState[];
  readonly waited: (exchange: Exchange, seconds: number) => void;
}

/** Creates the metrics of priority and fairness, under upstream's names. */
export function flowMetrics({ registry, states, waited }: FlowMetricsOptions): FlowObserver {
  const flowLabels = ['priority_level', 'flow_schema'] as const;
  const registers = [registry];
  const rejected = new Counter({
    name: 'apiserver_flowcontrol_rejected_requests_total',
    help: 'Requests rejected by priority and fairness.',
    labelNames: [...flowLabels, 'reason'],
    registers,
  });
  const dispatched = new Counter({
    name: 'apiserver_flowcontrol_dispatched_requests_total',
    help: 'Requests dispatched by priority and fairness.',
    labelNames: flowLabels,
    registers,
  });
  const waits = new Histogram({
    name: 'apiserver_flowcontrol_request_wait_duration_seconds',
    help: 'Time that requests waited in queues, in seconds.',
    labelNames: [...flowLabels, 'execute'],
    buckets: [0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30],
    registers,
  });
  const gauges: readonly (readonly [string, string, (state: LevelState) => number])[] = [
    ['apiserver_flowcontrol_current_inqueue_requests', 'Requests that wait in queues.', ({ waiting }) => waiting],
    [
      'apiserver_flowcontrol_current_executing_requests',
      'Dispatched requests that are being executed.',
      ({ executing }) => executing,
    ],
    ['apiserver_flowcontrol_current_executing_seats', 'Occupied seats.', ({ seatsInUse }) => seatsInUse],
    [
      'apiserver_flowcontrol_nominal_limit_seats',
      'Seats assigned to the priority level.',
      ({ nominalSeats }) => nominalSeats,
    ],
  ];
  for (const [name, help, read] of gauges) {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: ['priority_level'],
      registers,
      collect: () => {
        for (const state of states()) gauge.set({ priority_level: state.name }, read(state));
      },
    });
  }
  const labelsOf = ({ level, schema }: FlowName): { priority_level: string; flow_schema: string } => ({
    priority_level: level,
    flow_schema: schema,
  });
  return {
    rejected: (name, reason: RejectReason) => rejected.inc({ ...labelsOf(name), reason }),
    dispatched: (name, waitedMs, exchange) => {
      dispatched.inc(labelsOf(name));
      waits.observe({ ...labelsOf(name), execute: 'true' }, waitedMs / 1000);
      if (waitedMs > 0) waited(exchange, waitedMs / 1000);
    },
  };
}
