import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { MetricFamily } from './families/metric-family.ts';

export type Labels = Readonly<Record<string, string>>;

type Families = Readonly<Record<string, MetricFamily>>;
type NamesOf<F extends Families, Type extends MetricFamily['type']> = {
  [Name in keyof F]: F[Name]['type'] extends Type ? Name : never;
}[keyof F] &
  string;

type AnyMetric = Counter | Gauge | Histogram;

/** A label whose values come from outside could fill the memory: beyond this limit a family takes no new series. */
const MOST_SERIES = 10_000;

/** The families of one endpoint. The compiler checks their names; nothing here throws. */
export class MetricSet<F extends Families> {
  readonly #families: F;
  readonly #registry = new Registry();
  readonly #counters = new Map<string, Counter>();
  readonly #gauges = new Map<string, Gauge>();
  readonly #histograms = new Map<string, Histogram>();
  readonly #used = new Set<string>();
  readonly #series = new Map<string, Set<string>>();
  readonly #collectors: (() => void)[] = [];

  constructor(families: F) {
    this.#families = families;
    for (const [name, family] of Object.entries(families)) this.#register(name, family);
  }

  count(name: NamesOf<F, 'counter'>, labels: Labels = {}, by = 1): void {
    if (this.#admits(name, labels)) this.#counters.get(name)?.inc({ ...labels }, by);
  }

  set(name: NamesOf<F, 'gauge'>, labels: Labels, value: number): void {
    if (this.#admits(name, labels)) this.#gauges.get(name)?.set({ ...labels }, value);
  }

  observe(name: NamesOf<F, 'histogram'>, labels: Labels, value: number): void {
    if (this.#admits(name, labels)) this.#histograms.get(name)?.observe({ ...labels }, value);
  }

  /** A counter whose total is kept elsewhere. */
  setTotal(name: NamesOf<F, 'counter'>, labels: Labels, total: number): void {
    const counter = this.#counters.get(name);
    if (counter === undefined || !this.#admits(name, labels)) return;
    counter.remove({ ...labels });
    counter.inc({ ...labels }, total);
  }

  /** Removes one series when its subject is gone. */
  remove(name: keyof F & string, labels: Labels): void {
    (this.#counters.get(name) ?? this.#gauges.get(name) ?? this.#histograms.get(name))?.remove({ ...labels });
    this.#series.get(name)?.delete(seriesKey(labels));
  }

  /** Removes all series of a family, before they are set again from the current state. */
  clear(name: NamesOf<F, 'gauge'> | NamesOf<F, 'counter'>): void {
    this.#gauges.get(name)?.reset();
    this.#counters.get(name)?.reset();
    this.#series.delete(name);
  }

  /** Called before each scrape, for values that are read rather than counted. */
  collect(collector: () => void): void {
    this.#collectors.push(collector);
  }

  /** Resets all counts (upstream: DELETE). */
  reset(): void {
    this.#registry.resetMetrics();
    this.#used.clear();
    this.#series.clear();
  }

  /** Families with at least one series, by name. */
  async text(): Promise<string> {
    for (const collect of this.#collectors) collect();
    const parts: string[] = [];
    for (const [name, metric] of this.#metrics()) {
      if (this.#isHidden(name)) continue;
      const text = await this.#registry.getSingleMetricAsString(metric.name);
      if (hasSeries(text)) parts.push(`${text}\n`);
    }
    return parts.join('');
  }

  /** Number of families of each stability level. */
  stabilities(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const name of [...this.#metrics()].map(([each]) => each)) {
      const stability = this.#families[name]?.stability ?? 'ALPHA';
      counts.set(stability, (counts.get(stability) ?? 0) + 1);
    }
    return counts;
  }

  *#metrics(): Generator<[string, AnyMetric & { name: string }]> {
    for (const name of Object.keys(this.#families).sort()) {
      const metric = this.#counters.get(name) ?? this.#gauges.get(name) ?? this.#histograms.get(name);
      if (metric !== undefined) yield [name, Object.assign(metric, { name })];
    }
  }

  /** A new label value costs memory permanently, so there is a limit. */
  #admits(name: string, labels: Labels): boolean {
    this.#used.add(name);
    const key = seriesKey(labels);
    if (key === '') return true;
    const known = this.#series.get(name);
    if (known === undefined) this.#series.set(name, new Set([key]));
    else if (!known.has(key)) {
      if (known.size >= MOST_SERIES) return false;
      known.add(key);
    }
    return true;
  }

  #isHidden(name: string): boolean {
    return this.#families[name]?.hiddenUntilUsed === true && !this.#used.has(name);
  }

  #register(name: string, { type, help, labels, buckets, stability = 'ALPHA' }: MetricFamily): void {
    const options = {
      name,
      help: name.startsWith('process_') || name.startsWith('nodejs_') ? help : `[${stability}] ${help}`,
      labelNames: labels === undefined ? [] : [...labels],
      registers: [this.#registry],
    };
    if (type === 'counter') this.#counters.set(name, new Counter(options));
    else if (type === 'gauge') this.#gauges.set(name, new Gauge(options));
    else
      this.#histograms.set(
        name,
        new Histogram({ ...options, ...(buckets !== undefined && { buckets: [...buckets] }) }),
      );
  }
}

function seriesKey(labels: Labels): string {
  let key = '';
  for (const name of Object.keys(labels).sort()) key += `${key === '' ? '' : '\0'}${name}=${labels[name]}`;
  return key;
}

/** Upstream shows nothing of a family without series; the library shows its header. */
function hasSeries(text: string): boolean {
  return text.split('\n').some((line) => line !== '' && !line.startsWith('#'));
}
