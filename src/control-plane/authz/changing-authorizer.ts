import type { Authorizer } from '../model/user-info.ts';

/** The current authorizer. A change of the configuration file replaces it. */
export class ChangingAuthorizer implements Authorizer {
  readonly name = 'configured';
  #current: Authorizer;

  constructor(first: Authorizer) {
    this.#current = first;
  }

  use(next: Authorizer): void {
    this.#current = next;
  }

  readonly authorize: Authorizer['authorize'] = (attributes) => this.#current.authorize(attributes);

  readonly rulesFor: NonNullable<Authorizer['rulesFor']> = (user, namespace) =>
    this.#current.rulesFor?.(user, namespace) ??
    Promise.resolve({ resourceRules: [], nonResourceRules: [], incomplete: true });
}
