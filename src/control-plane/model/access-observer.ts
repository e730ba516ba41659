/** Which file of structured configuration. */
export type AccessFile = 'authentication' | 'authorization';

/** How a question to an authorization webhook ended. */
export type WebhookResult = 'success' | 'timeout' | 'error';

/** Hears what authentication and authorization do, for the metrics. */
export interface AccessObserver {
  /** The content that is in force since the start. */
  loaded(file: AccessFile, content: string): void;
  /** A changed file: its content when it counts from now on, undefined when it does not. */
  reloaded(file: AccessFile, content: string | undefined): void;
  jwtJudged(issuer: string, isUser: boolean, tookMs: number): void;
  /** Undefined: the keys could not be fetched. */
  keysFetched(issuer: string, keys: unknown): void;
  /** The issuer is configured no longer. */
  issuerRemoved(issuer: string): void;
  webhookAsked(authorizer: string, result: WebhookResult, tookMs: number): void;
  /** There was no answer, and the others were asked. */
  webhookFailedOpen(authorizer: string, result: WebhookResult): void;
  conditionsJudged(authorizer: string, result: 'match' | 'excluded' | 'error', tookMs: number): void;
}
