export type Labels = Readonly<Record<string, string>>;
export type SelectorOperator = 'In' | 'NotIn' | 'Exists' | 'DoesNotExist' | 'Gt' | 'Lt';
export interface Requirement {
  readonly key: string;
  readonly operator: SelectorOperator;
  readonly values: readonly string[];
}

/** NotIn and DoesNotExist also match if the key is missing. Gt and Lt compare integers (node selectors only). */
export function matchesRequirement(requirement: Requirement, labels: Labels): boolean {
  const value = Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
  switch (requirement.operator) {
    case 'In':
      return value !== undefined && isAmong(requirement.values, value);
    case 'NotIn':
      return value === undefined || !isAmong(requirement.values, value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
    case 'Lt':
      return comparesWhole(requirement, value);
  }
}

const isWhole = (text: string | undefined): boolean => text !== undefined && /^[-+]?[0-9]+$/.test(text);

function comparesWhole(requirement: Requirement, value: string | undefined): boolean {
  const [bound] = requirement.values;
  if (value === undefined || bound === undefined || requirement.values.length !== 1) return false;
  if (!isWhole(value) || !isWhole(bound)) return false;
  return requirement.operator === 'Gt' ? BigInt(value) > BigInt(bound) : BigInt(value) < BigInt(bound);
}

/** From this number of values on, a set is faster than a list. */
const FEW_VALUES = 8;
/** Cached sets of values, by the list. Selectors are immutable. */
const sets = new WeakMap<readonly string[], ReadonlySet<string>>();

function isAmong(values: readonly string[], value: string): boolean {
  if (values.length <= FEW_VALUES) return values.includes(value);
  let set = sets.get(values);
  if (set === undefined) sets.set(values, (set = new Set(values)));
  return set.has(value);
}

/** Requirements that are prepared for matching many objects. */
export interface LabelMatcher {
  /** Selects everything. */
  readonly empty: boolean;
  matches(labels: Labels): boolean;
}

const everything: LabelMatcher = { empty: true, matches: () => true };

/**
 * All requirements must hold; an empty list selects everything. The cost per object depends only on its number of
 * labels: requirements on one key are joined, and if there are more keys than labels, the labels are looked up among
 * the keys.
 */
export function compileRequirements(requirements: readonly Requirement[]): LabelMatcher {
  const [first, second] = requirements;
  if (first === undefined) return everything;
  if (requirements.length === 1) return { empty: false, matches: testOf(first) };
  if (requirements.length === 2 && second !== undefined) {
    const tests = [testOf(first), testOf(second)] as const;
    return { empty: false, matches: (labels) => tests[0](labels) && tests[1](labels) };
  }
  return joined(requirements);
}

/** Nearly all requirements are equality. */
function testOf(requirement: Requirement): (labels: Labels) => boolean {
  const { key, operator, values } = requirement;
  const [only] = values;
  if (operator === 'In' && values.length === 1 && only !== undefined && !(key in Object.prototype))
    return (labels) => labels[key] === only;
  return (labels) => matchesRequirement(requirement, labels);
}

/** The requirements on one key. */
class KeyConditions {
  #allowed: Set<string> | undefined;
  readonly #denied = new Set<string>();
  #present = false;
  #absent = false;
  readonly #bounds: Requirement[] = [];

  add(requirement: Requirement): void {
    const { operator, values } = requirement;
    switch (operator) {
      case 'In': {
        const before = this.#allowed;
        this.#allowed = new Set(before === undefined ? values : values.filter((value) => before.has(value)));
        this.#present = true;
        return;
      }
      case 'NotIn':
        for (const value of values) this.#denied.add(value);
        return;
      case 'Exists':
        this.#present = true;
        return;
      case 'DoesNotExist':
        this.#absent = true;
        return;
      case 'Gt':
      case 'Lt':
        this.#present = true;
        this.#addBound(requirement);
    }
  }

  /** Of two bounds only the narrower one matters. */
  #addBound(bound: Requirement): void {
    // A requirement with an invalid bound never holds.
    if (!isWhole(bound.values[0]) || bound.values.length !== 1) this.#absent = true;
    const index = this.#bounds.findIndex((each) => each.operator === bound.operator);
    const other = this.#bounds[index];
    if (other === undefined) this.#bounds.push(bound);
    else if (!comparesWhole(bound, other.values[0])) this.#bounds[index] = bound;
  }

  get wantsPresence(): boolean {
    return this.#present;
  }

  holdFor(value: string | undefined): boolean {
    if (value === undefined) return !this.#present;
    if (this.#absent || this.#denied.has(value) || this.#allowed?.has(value) === false) return false;
    return this.#bounds.every((bound) => comparesWhole(bound, value));
  }
}

function joined(requirements: readonly Requirement[]): LabelMatcher {
  const byKey = new Map<string, KeyConditions>();
  for (const requirement of requirements) {
    let conditions = byKey.get(requirement.key);
    if (conditions === undefined) byKey.set(requirement.key, (conditions = new KeyConditions()));
    conditions.add(requirement);
  }
  const all = [...byKey];
  const wanted = all.filter(([, conditions]) => conditions.wantsPresence).length;
  const valueOf = (labels: Labels, key: string): string | undefined =>
    Object.hasOwn(labels, key) ? labels[key] : undefined;
  return {
    empty: false,
    matches: (labels) => {
      if (all.length <= FEW_VALUES) return all.every(([key, conditions]) => conditions.holdFor(valueOf(labels, key)));
      const keys = Object.keys(labels);
      if (wanted > keys.length) return false;
      let found = 0;
      for (const key of keys) {
        const conditions = byKey.get(key);
        if (conditions === undefined) continue;
        if (!conditions.holdFor(labels[key])) return false;
        if (conditions.wantsPresence) found++;
      }
      return found === wanted;
    },
  };
}
