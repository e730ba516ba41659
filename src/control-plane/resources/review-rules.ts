/** The rules of reviews, which are answered and not stored. The answer validates them. */
export const reviewRules = { applyDefaults: <T>(object: T): T => object, validate: () => [], validateUpdate: () => [] };
