import type { AuthenticationResult, TokenAuthenticator } from '../../model/user-info.ts';
import type { CompiledJwt } from '../configuration/validate-authentication-configuration.ts';
import { unionTokenAuthenticator } from '../tokens/token-union.ts';
import type { OidcAuthenticator } from './oidc-authenticator.ts';

interface Member {
  readonly text: string;
  readonly url: string;
  readonly authenticator: OidcAuthenticator;
}

/** The issuers in use: those of a configuration file, which may change. */
export class IssuerSet implements TokenAuthenticator {
  readonly name = 'jwt';
  readonly #create: (compiled: CompiledJwt) => OidcAuthenticator;
  readonly #onRemoved: (issuer: string) => void;
  #members: readonly Member[] = [];
  #union: TokenAuthenticator = unionTokenAuthenticator([]);

  constructor(
    create: (compiled: CompiledJwt) => OidcAuthenticator,
    issuers: readonly CompiledJwt[],
    onRemoved: (issuer: string) => void = () => undefined,
  ) {
    this.#create = create;
    this.#onRemoved = onRemoved;
    this.use(issuers);
  }

  /** Sets the issuers. Their keys are fetched with the first tokens. */
  use(issuers: readonly CompiledJwt[]): void {
    this.#use(this.#membersOf(issuers));
  }

  authenticateToken(token: string, audiences?: readonly string[]): Promise<AuthenticationResult> {
    return this.#union.authenticateToken(token, audiences);
  }

  /**
   * Replaces the issuers when the keys of each are available. Rejects with `Unavailable` if the keys of one cannot be
   * fetched; the old issuers then stay in use. An issuer whose configuration is unchanged keeps its keys.
   */
  async replace(issuers: readonly CompiledJwt[]): Promise<void> {
    const members = this.#membersOf(issuers);
    await Promise.all(members.map(({ authenticator }) => authenticator.prepare()));
    const removed = this.#members.filter(({ url }) => !members.some((each) => each.url === url));
    this.#use(members);
    for (const { url } of removed) this.#onRemoved(url);
  }

  #membersOf(issuers: readonly CompiledJwt[]): readonly Member[] {
    return issuers.map((compiled) => {
      const text = JSON.stringify(compiled.jwt);
      const known = this.#members.find((each) => each.text === text);
      return known ?? { text, url: compiled.jwt.issuer?.url ?? '', authenticator: this.#create(compiled) };
    });
  }

  #use(members: readonly Member[]): void {
    this.#members = members;
    this.#union = unionTokenAuthenticator(members.map(({ authenticator }) => authenticator));
  }
}
