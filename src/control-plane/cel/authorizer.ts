import type { Library } from '../../cel/environment.ts';
import { memberFunction as member } from '../../cel/environment.ts';
import { Suspension } from '../../cel/frame.ts';
import type { CelType } from '../../cel/types.ts';
import { boolType, opaque, stringType } from '../../cel/types.ts';
import { CelError, Opaque } from '../../cel/values.ts';
import { checkDnsLabel, checkDnsSubdomain } from '../../api/validation/names.ts';

export const authorizerType = opaque('kubernetes.authorization.Authorizer');
const pathCheckType = opaque('kubernetes.authorization.PathCheck');
const groupCheckType = opaque('kubernetes.authorization.GroupCheck');
export const resourceCheckType = opaque('kubernetes.authorization.ResourceCheck');
const decisionType = opaque('kubernetes.authorization.Decision');

/** The attributes of a check. `serviceAccount` replaces the user of the request. */
export interface AuthorizationQuestion {
  readonly serviceAccount?: { readonly namespace: string; readonly name: string };
  /** The path, for non-resource requests. */
  readonly path?: string;
  readonly group?: string;
  readonly resource?: string;
  readonly subresource?: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  readonly verb: string;
}

export interface AuthorizationAnswer {
  readonly allowed: boolean;
  readonly reason: string;
  /** The reason why no decision could be made. */
  readonly error?: string;
}

/** Calls the authorizers of the API server, and caches their decisions for the duration of the request. */
export class AuthorizationChecks {
  readonly #ask: (question: AuthorizationQuestion) => Promise<AuthorizationAnswer>;
  readonly #answers = new Map<string, AuthorizationAnswer>();

  constructor(ask: (question: AuthorizationQuestion) => Promise<AuthorizationAnswer>) {
    this.#ask = ask;
  }

  /** Throws Suspension if the decision is not available yet. */
  answer(question: AuthorizationQuestion): AuthorizationAnswer {
    const key = JSON.stringify(question);
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    throw new Suspension(this.#fetch(key, question));
  }

  async #fetch(key: string, question: AuthorizationQuestion): Promise<void> {
    try {
      this.#answers.set(key, await this.#ask(question));
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      this.#answers.set(key, { allowed: false, reason: '', error: text });
    }
  }
}

abstract class Part extends Opaque {
  equals(other: Opaque): boolean {
    return other === this;
  }
}

export class AuthorizerValue extends Part {
  readonly type: CelType = authorizerType;
  readonly checks: AuthorizationChecks;
  readonly serviceAccount: AuthorizationQuestion['serviceAccount'];

  constructor(checks: AuthorizationChecks, serviceAccount?: AuthorizationQuestion['serviceAccount']) {
    super();
    this.checks = checks;
    this.serviceAccount = serviceAccount;
  }

  get who(): Pick<AuthorizationQuestion, 'serviceAccount'> {
    return this.serviceAccount === undefined ? {} : { serviceAccount: this.serviceAccount };
  }
}

type Query = Omit<AuthorizationQuestion, 'verb'>;

/** A check that is being built by an expression. */
class Check extends Part {
  readonly type: CelType;
  readonly checks: AuthorizationChecks;
  readonly query: Query;

  constructor(type: CelType, checks: AuthorizationChecks, query: Query) {
    super();
    this.type = type;
    this.checks = checks;
    this.query = query;
  }

  with(more: Query, type = this.type): Check {
    return new Check(type, this.checks, { ...this.query, ...more });
  }
}

class Decision extends Part {
  readonly type: CelType = decisionType;
  readonly answer: AuthorizationAnswer;

  constructor(answer: AuthorizationAnswer) {
    super();
    this.answer = answer;
  }
}

/** Returns the check for the resource of the request, which is a separate variable. */
export function resourceCheck(checks: AuthorizationChecks, query: Query): Opaque {
  return new Check(resourceCheckType, checks, query);
}

function serviceAccount(authorizer: AuthorizerValue, namespace: string, name: string): AuthorizerValue | CelError {
  if (checkDnsSubdomain(name).length > 0) return new CelError('Invalid service account name');
  if (checkDnsLabel(namespace).length > 0) return new CelError('Invalid service account namespace');
  return new AuthorizerValue(authorizer.checks, { namespace, name });
}

const check = ({ checks, query }: Check, verb: string): Decision => new Decision(checks.answer({ ...query, verb }));

const setter = (id: string, key: keyof Query) => [
  member(id, [resourceCheckType, stringType], resourceCheckType, (made: Check, text: string) =>
    made.with({ [key]: text }),
  ),
];

/** CEL functions that call the authorizers of the API server. */
export const authorizers: Library = {
  typeNames: Object.fromEntries(
    [authorizerType, pathCheckType, groupCheckType, resourceCheckType, decisionType].map((type) => [
      'name' in type ? type.name : '',
      type,
    ]),
  ),
  functions: {
    path: [
      member(
        'authorizer_path',
        [authorizerType, stringType],
        pathCheckType,
        ({ checks, who }: AuthorizerValue, path: string) =>
          path === '' ? new CelError('path must not be empty') : new Check(pathCheckType, checks, { ...who, path }),
      ),
    ],
    group: [
      member(
        'authorizer_group',
        [authorizerType, stringType],
        groupCheckType,
        ({ checks, who }: AuthorizerValue, group: string) => new Check(groupCheckType, checks, { ...who, group }),
      ),
    ],
    serviceAccount: [
      member('authorizer_serviceaccount', [authorizerType, stringType, stringType], authorizerType, serviceAccount),
    ],
    resource: [
      member('groupcheck_resource', [groupCheckType, stringType], resourceCheckType, (made: Check, resource: string) =>
        resource === '' ? new CelError('resource must not be empty') : made.with({ resource }, resourceCheckType),
      ),
    ],
    subresource: setter('resourcecheck_subresource', 'subresource'),
    namespace: setter('resourcecheck_namespace', 'namespace'),
    name: setter('resourcecheck_name', 'name'),
    fieldSelector: setter('authorizer_fieldselector', 'fieldSelector'),
    labelSelector: setter('authorizer_labelselector', 'labelSelector'),
    check: [
      member('pathcheck_check', [pathCheckType, stringType], decisionType, check),
      member('resourcecheck_check', [resourceCheckType, stringType], decisionType, check),
    ],
    allowed: [member('decision_allowed', [decisionType], boolType, ({ answer }: Decision) => answer.allowed)],
    reason: [member('decision_reason', [decisionType], stringType, ({ answer }: Decision) => answer.reason)],
    errored: [
      member('decision_errored', [decisionType], boolType, ({ answer }: Decision) => answer.error !== undefined),
    ],
    error: [member('decision_error', [decisionType], stringType, ({ answer }: Decision) => answer.error ?? '')],
  },
};
