import { serviceAccountGroups } from '../../cel/service-account-user.ts';
import { namespaces } from '../../../api/client/resource-types.ts';
import { CelBudget, CelPace } from '../../../cel/budget.ts';
import type { Program } from '../../../cel/compile.ts';
import type { Variables } from '../../../cel/frame.ts';
import { Suspension } from '../../../cel/frame.ts';
import { fromJson } from '../../../cel/json-values.ts';
import type { CelResult, CelValue, LookupKey } from '../../../cel/values.ts';
import { CelError, CelMap } from '../../../cel/values.ts';
import { CostExceeded } from '../../../cel/work.ts';
import type { AuthorizationQuestion } from '../../cel/authorizer.ts';
import { AuthorizationChecks, AuthorizerValue, resourceCheck } from '../../cel/authorizer.ts';
import { PER_CALL_LIMIT } from '../../cel/limits.ts';
import { namespaceType, requestType } from '../../cel/policy-environment.ts';
import { adaptTo } from '../../cel/typed-values.ts';
import type { AdmissionAttributes } from '../../model/admission.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { Authorizer, UserInfo } from '../../model/user-info.ts';
import { admissionReview, wireForm } from '../webhooks/admission-review.ts';
import { namespaceOf } from '../webhooks/match-webhook.ts';

export interface RequestVariableParts {
  readonly reader: ObjectReader;
  readonly authorizer: Authorizer;
}

interface ReviewRequest {
  readonly object: unknown;
  readonly oldObject: unknown;
}

/** The variables of one request, for all its expressions. Each is computed at its first use. */
export class RequestVariables {
  /** Measures the total cost of all evaluations for the request. */
  readonly pace = new CelPace();
  readonly #attributes: AdmissionAttributes;
  readonly #parts: RequestVariableParts;
  readonly #checks: AuthorizationChecks;
  readonly #known = new Map<string, CelValue>();
  #review: (ReviewRequest & Record<string, unknown>) | undefined;

  constructor(attributes: AdmissionAttributes, parts: RequestVariableParts) {
    this.#attributes = attributes;
    this.#parts = parts;
    this.#checks = new AuthorizationChecks((question) => this.#ask(question));
  }

  read(name: string): CelValue | undefined {
    const known = this.#known.get(name);
    if (known !== undefined) return known;
    const value = this.#make(name);
    if (value !== undefined) this.#known.set(name, value);
    return value;
  }

  #make(name: string): CelValue | undefined {
    switch (name) {
      case 'object':
        return fromJson(this.#request().object);
      case 'oldObject':
        return fromJson(this.#request().oldObject);
      case 'request':
        return adaptTo(requestType)(this.#request());
      case 'namespaceObject':
        return this.#namespace();
      case 'authorizer':
        return new AuthorizerValue(this.#checks);
      case 'authorizer.requestResource':
        return this.#requestResource();
      default:
        return undefined;
    }
  }

  #request(): ReviewRequest & Record<string, unknown> {
    // The `request` of an AdmissionReview, as webhooks receive it.
    this.#review ??= (
      admissionReview(this.#attributes, '') as { readonly request: ReviewRequest & Record<string, unknown> }
    ).request;
    return this.#review;
  }

  /** null for cluster-scoped objects. */
  #namespace(): CelValue {
    const name = namespaceOf(this.#attributes);
    const found = name === '' ? undefined : this.#parts.reader.get(namespaces, { namespace: '', name });
    if (found === undefined) return null;
    const { metadata, ...rest } = wireForm(found, namespaces) as { readonly metadata: { readonly uid?: string } };
    return adaptTo(namespaceType)({ ...rest, metadata: { ...metadata, UID: metadata.uid } });
  }

  #requestResource(): CelValue {
    const { definition, subresource, namespace, name } = this.#attributes;
    const { group, plural } = definition.type;
    return resourceCheck(this.#checks, { group, resource: plural, subresource, namespace, name });
  }

  async #ask(question: AuthorizationQuestion): Promise<{ allowed: boolean; reason: string; error?: string }> {
    const { user } = this.#attributes.context;
    const { decision, reason, evaluationError } = await this.#parts.authorizer.authorize({
      user: question.serviceAccount === undefined ? user : serviceAccountUser(question.serviceAccount),
      verb: question.verb,
      resourceRequest: question.path === undefined,
      apiGroup: question.group ?? '',
      apiVersion: question.path === undefined ? '*' : '',
      resource: question.resource ?? '',
      subresource: question.subresource ?? '',
      namespace: question.namespace ?? '',
      name: question.name ?? '',
      path: question.path ?? '',
      ...(question.fieldSelector !== undefined && { fieldSelector: question.fieldSelector }),
      ...(question.labelSelector !== undefined && { labelSelector: question.labelSelector }),
    });
    return { allowed: decision === 'allow', reason, ...(evaluationError !== undefined && { error: evaluationError }) };
  }
}

function serviceAccountUser({ namespace, name }: { readonly namespace: string; readonly name: string }): UserInfo {
  return { name: `system:serviceaccount:${namespace}:${name}`, groups: serviceAccountGroups(namespace) };
}

/** Evaluates programs for one policy and one request with a common budget. */
export class PolicyEvaluation {
  readonly #request: RequestVariables;
  readonly #own: ReadonlyMap<string, CelValue>;
  readonly #variables: LazyVariables;
  readonly #budget: CelBudget;

  /**
   * `own` are variables of this evaluation only, such as params. `units` is the cost limit of all its programs
   * together.
   */
  constructor(
    request: RequestVariables,
    own: ReadonlyMap<string, CelValue>,
    variables: ReadonlyMap<string, Program>,
    units: number,
  ) {
    this.#request = request;
    this.#own = own;
    this.#budget = new CelBudget(units, request.pace);
    this.#variables = new LazyVariables(variables, (program) => this.#runWithin(program));
  }

  get pace(): CelPace {
    return this.#budget.pace;
  }

  readonly #read: Variables = (name) => {
    if (name === 'variables') return this.#variables;
    const own = this.#own.get(name);
    return own === undefined ? this.#request.read(name) : own;
  };

  #run(program: Program): CelResult | 'cost-exceeded' {
    const { result, cost } = program.evaluate(this.#read, Math.min(PER_CALL_LIMIT, Math.max(0, this.#budget.left)));
    this.#budget.spend(cost);
    return result;
  }

  /** Runs a program within the limit. There may be many variables, and each may be expensive. */
  #runWithin(program: Program): CelResult | 'cost-exceeded' {
    const turn = this.pace.restWithin();
    if (turn !== undefined) throw new Suspension(turn);
    return this.#run(program);
  }

  /** Evaluates a program, and waits for the answers of authorizers. */
  async evaluate(program: Program): Promise<CelResult | 'cost-exceeded'> {
    for (;;) {
      try {
        return this.#run(program);
      } catch (error) {
        if (!(error instanceof Suspension)) throw error;
        await error.answer;
      }
    }
  }
}

/** A map of variables, each of which is evaluated at its first use, and only once. */
class LazyVariables extends CelMap {
  readonly #programs: ReadonlyMap<string, Program>;
  readonly #run: (program: Program) => CelResult | 'cost-exceeded';
  readonly #known = new Map<string, CelResult>();

  constructor(programs: ReadonlyMap<string, Program>, run: (program: Program) => CelResult | 'cost-exceeded') {
    super();
    this.#programs = programs;
    this.#run = run;
  }

  get size(): number {
    return this.#programs.size;
  }

  get(key: LookupKey): CelValue | undefined {
    const name = String(key);
    const known = this.#known.get(name);
    if (known !== undefined) return known as CelValue;
    const program = this.#programs.get(name);
    if (program === undefined) return undefined;
    const result = this.#run(program);
    if (result === 'cost-exceeded') throw new CostExceeded();
    const kept =
      result instanceof CelError
        ? new CelError(`composited variable "${name}" fails to evaluate: ${result.message}`)
        : result;
    this.#known.set(name, kept);
    // An error replaces the value, so that the selection that reads the variable returns the error.
    return kept as CelValue;
  }

  *keys(): Iterable<CelValue> {
    yield* this.#programs.keys();
  }
}
