/** One family as upstream registers it. */
export interface MetricFamily {
  type: 'counter' | 'gauge' | 'histogram';
  help: string;
  labels?: readonly string[];
  /** Upper bounds, without infinity. */
  buckets?: readonly number[];
  /** ALPHA unless said. */
  stability?: 'ALPHA' | 'BETA' | 'STABLE';
  /** Without labels and yet not shown before the first observation. */
  hiddenUntilUsed?: boolean;
  /** Behind a feature gate that is off: not registered. */
  gated?: boolean;
}
