import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { MetricFamily } from './families/metric-family.ts';

export type Labels = Readonly<Record<string, string>>;

type Families = Readonly<Record<string, MetricFamily>>;
type NamesOf<F extends Families, Type extends MetricFamily['type']> = {
  [Name in keyof F]: F[Name]['type'] extends Type ? Name : never;
}[keyof F] &
  string;

type AnyMetric = Counter | Gauge | Histogram;

/** The maximum number of series of a family, because labels with values from outside could fill the memory. */
const MOST_SERIES = 10_000;

/** The families of one endpoint. The compiler checks their names, and no method throws. */
export class MetricSet<F extends Families> {
  readonly #families: F;
  readonly #registry = new Registry();
  readonly #counters = new Map<string, Counter>();
  readonly #gauges = new Map<string, Gauge>();
  readonly #histograms = new Map<string, Histogram>();
  readonly #used = new Set<string>();
  readonly #series = new Map<string, Set<string>>();
  readonly #collectors: (() => void)[] = [];
  readonly #firstCollectors: (() => void)[] = [];

  constructor(families: F) {
    this.#families = families;
  }

  count(name: NamesOf<F, 'counter'>, labels: Labels = {}, by = 1): void {
    if (this.#admits(name, labels)) this.#counter(name)?.inc({ ...labels }, by);
  }

  set(name: NamesOf<F, 'gauge'>, labels: Labels, value: number): void {
    if (this.#admits(name, labels)) this.#gauge(name)?.set({ ...labels }, value);
  }

  observe(name: NamesOf<F, 'histogram'>, labels: Labels, value: number): void {
    if (this.#admits(name, labels)) this.#histogram(name)?.observe({ ...labels }, value);
  }

  /** Sets a counter whose total is stored elsewhere. */
  setTotal(name: NamesOf<F, 'counter'>, labels: Labels, total: number): void {
    const counter = this.#counter(name);
    if (counter === undefined || !this.#admits(name, labels)) return;
    counter.remove({ ...labels });
    counter.inc({ ...labels }, total);
  }

  /** Removes one series when its subject is removed. */
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

  /** Registers a function that is called before each scrape, for values that are read and not counted. */
  collect(collector: () => void): void {
    this.#collectors.push(collector);
  }

  /** Registers a function that is called before the first scrape, for values that do not change. */
  collectOnce(collector: () => void): void {
    this.#firstCollectors.push(collector);
  }

  /** Resets all counts (upstream: DELETE). */
  reset(): void {
    this.#registry.resetMetrics();
    this.#used.clear();
    this.#series.clear();
  }

  /** Returns the families that have at least one series, by name. */
  async text(): Promise<string> {
    for (const collect of this.#firstCollectors.splice(0)) collect();
    for (const collect of this.#collectors) collect();
    const parts: string[] = [];
    for (const [name, metric] of this.#metrics()) {
      if (this.#isHidden(name)) continue;
      const text = await this.#registry.getSingleMetricAsString(metric.name);
      if (hasSeries(text)) parts.push(`${text}\n`);
    }
    return parts.join('');
  }

  /** Returns the number of families of each stability level. */
  stabilities(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { stability = 'ALPHA' } of Object.values<MetricFamily>(this.#families)) {
      counts.set(stability, (counts.get(stability) ?? 0) + 1);
    }
    return counts;
  }

  *#metrics(): Generator<[string, AnyMetric & { name: string }]> {
    for (const name of Object.keys(this.#families).sort()) {
      const metric = this.#counter(name) ?? this.#gauge(name) ?? this.#histogram(name);
      if (metric !== undefined) yield [name, Object.assign(metric, { name })];
    }
  }

  /** Whether the family accepts the labels. A new label value uses memory permanently, so their number is limited. */
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

  // Most families are used late or never, so each is created when it is first needed.

  #counter(name: string): Counter | undefined {
    const known = this.#counters.get(name);
    if (known !== undefined || this.#families[name]?.type !== 'counter') return known;
    const made = new Counter(this.#optionsOf(name, this.#families[name]));
    this.#counters.set(name, made);
    return made;
  }

  #gauge(name: string): Gauge | undefined {
    const known = this.#gauges.get(name);
    if (known !== undefined || this.#families[name]?.type !== 'gauge') return known;
    const made = new Gauge(this.#optionsOf(name, this.#families[name]));
    this.#gauges.set(name, made);
    return made;
  }

  #histogram(name: string): Histogram | undefined {
    const known = this.#histograms.get(name);
    if (known !== undefined || this.#families[name]?.type !== 'histogram') return known;
    const { buckets } = this.#families[name];
    const made = new Histogram({
      ...this.#optionsOf(name, this.#families[name]),
      ...(buckets !== undefined && { buckets: [...buckets] }),
    });
    this.#histograms.set(name, made);
    return made;
  }

  #optionsOf(name: string, { help, labels, stability = 'ALPHA' }: MetricFamily) {
    return {
      name,
      help: name.startsWith('process_') || name.startsWith('nodejs_') ? help : `[${stability}] ${help}`,
      labelNames: labels === undefined ? [] : [...labels],
      registers: [this.#registry],
    };
  }
}

function seriesKey(labels: Labels): string {
  let key = '';
  for (const name of Object.keys(labels).sort()) key += `${key === '' ? '' : '\0'}${name}=${labels[name]}`;
  return key;
}

/**
 * Whether the text contains a series. Upstream shows nothing of a family without series, but the library shows its
 * header.
 */
function hasSeries(text: string): boolean {
  return text.split('\n').some((line) => line !== '' && !line.startsWith('#'));
}
