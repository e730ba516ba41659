import { Counter, Gauge, Histogram } from 'prom-client';
import type { Registry as MetricRegistry } from 'prom-client';

/** The exponential buckets from 0.1 s, as in upstream. */
const waitBuckets = Array.from({ length: 14 }, (_, index) => 0.1 * 2 ** index);

interface ClaimCount {
  readonly allocated: boolean;
  readonly adminAccess: boolean;
  readonly source: string;
  readonly count: number;
}

interface BindingConditionsWait {
  readonly profile: string;
  readonly driver: string;
  readonly status: string;
  readonly durationMs: number;
  readonly isConditional: boolean;
}

/** Metrics of resource claims from the controllers and the scheduler in this process, under upstream's names. */
export class ResourceClaimMetrics {
  readonly #created: Counter;
  readonly #createdByScheduler: Counter;
  readonly #conditional: Counter;
  readonly #waits: Histogram;
  #count: (() => readonly ClaimCount[]) | undefined;

  constructor(registry: MetricRegistry) {
    const registers = [registry];
    this.#created = new Counter({
      name: 'resourceclaim_controller_creates_total',
      help: 'Attempts of the resource claim controller to create ResourceClaims.',
      labelNames: ['status', 'admin_access'],
      registers,
    });
    this.#createdByScheduler = new Counter({
      name: 'scheduler_resourceclaim_creates_total',
      help: 'Attempts of the scheduler to create ResourceClaims for extended resources.',
      labelNames: ['status'],
      registers,
    });
    this.#conditional = new Counter({
      name: 'scheduler_dra_bindingconditions_allocations_total',
      help: 'Allocated devices with binding conditions.',
      labelNames: ['profile', 'driver', 'status'],
      registers,
    });
    this.#waits = new Histogram({
      name: 'scheduler_dra_bindingconditions_wait_duration_seconds',
      help: 'Time that pods waited for the binding conditions of their devices, in seconds.',
      labelNames: ['profile', 'driver', 'status'],
      buckets: waitBuckets,
      registers,
    });
    const counted = new Gauge({
      name: 'resourceclaim_controller_resource_claims',
      help: 'Number of ResourceClaims.',
      labelNames: ['allocated', 'admin_access', 'source'],
      registers,
      collect: () => {
        counted.reset();
        for (const { allocated, adminAccess, source, count } of this.#count?.() ?? [])
          counted.set({ allocated: String(allocated), admin_access: String(adminAccess), source }, count);
      },
    });
  }

  created(by: 'resourceclaim_controller' | 'scheduler', isError: boolean, adminAccess: boolean): void {
    const status = isError ? 'failure' : 'success';
    if (by === 'scheduler') this.#createdByScheduler.inc({ status });
    else this.#created.inc({ status, admin_access: String(adminAccess) });
  }

  countWith(count: () => readonly ClaimCount[]): void {
    this.#count = count;
  }

  waited({ profile, driver, status, durationMs, isConditional }: BindingConditionsWait): void {
    this.#waits.observe({ profile, driver, status }, durationMs / 1000);
    if (isConditional) this.#conditional.inc({ profile, driver, status });
  }
}
