/** The content of `kubelet evict --dry-run`, over the local API. Amounts are bytes, inodes or processes. */
export interface EvictionReport {
  readonly signals: readonly SignalReport[];
  /** The true conditions of the node. `forMs` is how long each stays at least if there is no new shortage. */
  readonly conditions: readonly { readonly type: string; readonly forMs: number }[];
  /** The evicted pod whose cleanup is in progress. No other pod is evicted before its end. */
  readonly leaving: string | undefined;
  readonly reclaimable: ReclaimableReport;
  readonly rankings: readonly RankingReport[];
}

export interface SignalReport {
  readonly signal: string;
  readonly resource: string;
  readonly available: number;
  readonly capacity: number;
  readonly ageMs: number;
  readonly thresholds: readonly ThresholdReport[];
}

export interface ThresholdReport {
  readonly kind: 'hard' | 'soft';
  readonly amount: number;
  readonly graceMs: number;
  readonly minimumReclaim: number;
  /** How long the threshold has been met; undefined while it is not. */
  readonly metForMs: number | undefined;
}

/** What the node would remove before it evicts a pod for disk space. */
export interface ReclaimableReport {
  readonly containers: number;
  readonly images: number;
  readonly imageBytes: number;
}

/** The order in which pods would be evicted for a signal. */
export interface RankingReport {
  readonly signal: string;
  readonly resource: string;
  /** The first pod as namespace/name; undefined if no pod would be evicted. */
  readonly first: string | undefined;
  readonly pods: readonly RankedPodReport[];
}

export interface RankedPodReport {
  readonly pod: string;
  /** The usage; undefined if it was not measured. */
  readonly usage: number | undefined;
  readonly request: number;
  readonly priority: number;
  /** Whether the pod is never evicted, because it is static, mirror or critical. */
  readonly spared: boolean;
}
