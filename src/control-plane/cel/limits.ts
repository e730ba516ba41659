/** What expressions may cost, in cel-go's units (upstream: apis/cel/config.go, apiextensions validation). */

/** One evaluation. */
export const PER_CALL_LIMIT = 1_000_000;
/** All evaluations for one object, or of one policy for one request. */
export const RUNTIME_BUDGET = 10_000_000;
/** All match conditions of a webhook, for one request. */
export const MATCH_CONDITIONS_BUDGET = 2_500_000;
/** What a rule of a schema may be estimated to cost for one object, and all rules of a CustomResourceDefinition. */
export const RULE_ESTIMATE_LIMIT = 10_000_000;
export const CRD_ESTIMATE_LIMIT = 100_000_000;
/** Longest request that is read, which bounds how much a value can hold. */
export const REQUEST_LIMIT_BYTES = 3 * 1024 * 1024;
