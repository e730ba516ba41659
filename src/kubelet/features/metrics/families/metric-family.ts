/** One family as upstream registers it. */
export interface MetricFamily {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels?: readonly string[];
  /** Upper bounds, without infinity. */
  readonly buckets?: readonly number[];
  /** ALPHA by default. */
  readonly stability?: 'ALPHA' | 'BETA' | 'STABLE';
  /** Without labels and still not shown before the first observation. */
  readonly hiddenUntilUsed?: boolean;
}
