/** Cost limits of expressions, in cel-go's units (upstream: apis/cel/config.go, apiextensions validation). */

/** The limit of one evaluation. */
export const PER_CALL_LIMIT = 1_000_000;
/** The limit of all evaluations for one object, or of one policy for one request. */
export const RUNTIME_BUDGET = 10_000_000;
/** The limit of all match conditions of a webhook, for one request. */
export const MATCH_CONDITIONS_BUDGET = 2_500_000;
/** The limits of the estimated cost for one object: of one rule, and of all rules of a CustomResourceDefinition. */
export const RULE_ESTIMATE_LIMIT = 10_000_000;
export const CRD_ESTIMATE_LIMIT = 100_000_000;
/** The maximum size of a request, which limits the size of values. */
export const REQUEST_LIMIT_BYTES = 3 * 1024 * 1024;
