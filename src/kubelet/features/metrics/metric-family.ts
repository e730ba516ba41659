/** One family as upstream registers it. */
export interface MetricFamily {
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  labels?: readonly string[];
  /** Upper bounds, without infinity. */
  buckets?: readonly number[];
  /** ALPHA by default. */
  stability?: 'ALPHA' | 'BETA' | 'STABLE';
  /** Without labels and still not shown before the first observation. */
  hiddenUntilUsed?: boolean;
}
