/** One family as upstream registers it. */
export interface MetricFamily {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labels?: readonly string[];
  /** The upper bounds, without infinity. */
  readonly buckets?: readonly number[];
  /** The stability level; default ALPHA. */
  readonly stability?: 'ALPHA' | 'BETA' | 'STABLE';
  /** Whether a family without labels is hidden until its first observation. */
  readonly hiddenUntilUsed?: boolean;
}
