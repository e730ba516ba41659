/** Observes resource claims, for metrics. */
export interface ClaimMetrics {
  /** An attempt to create a claim has ended; only the controller reports whether it is for administrative access. */
  created(by: 'resourceclaim_controller' | 'scheduler', isError: boolean, adminAccess: boolean): void;
  /** `count` is called at each scrape. */
  countWith(count: () => readonly ClaimCount[]): void;
  /** A pod waited for the binding conditions of devices of this driver. */
  waited(wait: BindingConditionsWait): void;
}

export interface ClaimCount {
  readonly allocated: boolean;
  readonly adminAccess: boolean;
  /** '' for claims that users create. */
  readonly source: 'resource_claim_template' | 'extended_resource' | '';
  readonly count: number;
}

export interface BindingConditionsWait {
  readonly profile: string;
  readonly driver: string;
  readonly status: 'success' | 'failure' | 'timeout' | 'error';
  readonly durationMs: number;
  /** Whether the devices of the driver have binding conditions. */
  readonly isConditional: boolean;
}
